"""What small grey copies of a clip's frames tell: cuts, stillness, and which frames are worth reading."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from amr.records import Frame

THUMBNAIL = (32, 18)
"""Width and height of the small grey copies. At this size noise and compression average out."""

CUT_DIFFERENCE = 35.0
CUT_REDISTRIBUTION = 0.4
"""A cut changes the pixels and the distribution of grey levels at once; a turned head mostly moves pixels.

Frames about 1.25 s apart: real cuts measured 73-80 grey levels and 0.51-0.57, the fastest head turns of a
worn camera up to 46 and 0.32.
"""

STILL_DIFFERENCE = 1.5
"""Grey levels; a fixed camera with nobody moving about measured 0.3-1.5 between frames."""

READ_DIFFERENCE = 6.0
"""Grey levels a cell of the small copy must change by before a frame is worth reading again."""

BLANK_RANGE = 24
"""Grey levels between the darkest and brightest spot of a frame with nothing on it."""


def thumbnail(frame: Frame) -> NDArray[np.float32]:
    """The frame as grey levels 0 to 255, float32 [18, 32], each the mean of its cell."""
    from PIL import Image

    grey = Image.fromarray(frame.image).convert("L").resize(THUMBNAIL, Image.Resampling.BOX)
    return np.asarray(grey, dtype=np.float32)


def scene_cuts(frames: Sequence[Frame], thumbnails: Sequence[NDArray[np.float32]]) -> list[int]:
    """Times in source milliseconds of the frames whose picture has nothing to do with the one before."""
    pairs = zip(frames[1:], thumbnails, thumbnails[1:], strict=False)
    return [frame.time_ms for frame, before, after in pairs if _is_cut(before, after)]


def is_still(thumbnails: Sequence[NDArray[np.float32]]) -> bool | None:
    """Whether the picture hardly changes from frame to frame; None when fewer than two frames tell."""
    if len(thumbnails) < 2:
        return None
    pairs = pairwise(thumbnails)
    return all(float(np.abs(after - before).mean()) <= STILL_DIFFERENCE for before, after in pairs)


def frames_to_read(frames: Sequence[Frame], thumbnails: Sequence[NDArray[np.float32]]) -> list[Frame]:
    """At most two frames to look for text in, in time order.

    The last one that is not blank, because things end up where they stay, and the sharpest of those that
    differ from it. An unchanged picture is read once.
    """
    usable = [(frame, small) for frame, small in zip(frames, thumbnails, strict=True) if not is_blank(frame)]
    if not usable:
        return []
    last, last_small = usable[-1]
    others = [frame for frame, small in usable[:-1] if _differs(small, last_small)]
    return [max(others, key=_sharpness), last] if others else [last]


def is_blank(frame: Frame) -> bool:
    """Whether the frame is one flat colour, such as black between two scenes."""
    return int(np.ptp(_grey(frame))) < BLANK_RANGE


def _is_cut(before: NDArray[np.float32], after: NDArray[np.float32]) -> bool:
    difference = float(np.abs(after - before).mean())
    return difference > CUT_DIFFERENCE and _redistribution(before, after) > CUT_REDISTRIBUTION


def _redistribution(before: NDArray[np.float32], after: NDArray[np.float32]) -> float:
    """The share of cells, 0 to 1, that would have to change grey level to turn one picture into the other."""
    histograms = [np.histogram(small, bins=16, range=(0, 256))[0] / small.size for small in (before, after)]
    return float(np.abs(histograms[0] - histograms[1]).sum() / 2)


def _differs(one: NDArray[np.float32], other: NDArray[np.float32]) -> bool:
    return float(np.abs(one - other).max()) > READ_DIFFERENCE


def _sharpness(frame: Frame) -> float:
    grey = _grey(frame).astype(np.int16)
    return float(np.abs(np.diff(grey, axis=0)).mean() + np.abs(np.diff(grey, axis=1)).mean())


def _grey(frame: Frame) -> NDArray[np.uint8]:
    from PIL import Image

    return np.asarray(Image.fromarray(frame.image).convert("L").reduce(2))
