"""Frames: from the decoder to upright RGB, and to a JPEG file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from amr.records import Frame

_JPEG_QUALITY = 85


def rgb_image(picture: Any, frame_size: int, reformatter: Any) -> NDArray[np.uint8]:
    """A decoded picture as upright RGB [height, width, 3]; its long side at most `frame_size`, never upscaled.

    `reformatter` is a PyAV VideoReformatter, kept from picture to picture because setting one up is slow.
    """
    import numpy as np

    scale = min(1.0, frame_size / max(picture.width, picture.height))
    small = reformatter.reformat(
        picture,
        width=max(1, round(picture.width * scale)),
        height=max(1, round(picture.height * scale)),
        format="rgb24",
        interpolation="BILINEAR",
    )
    quarter_turns = round(picture.rotation / 90) % 4
    return np.ascontiguousarray(np.rot90(small.to_ndarray(), quarter_turns))


def save_frame(frame: Frame, path: Path) -> None:
    """Writes a frame as a JPEG, whole or not at all; folders are made as needed."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        Image.fromarray(frame.image).save(unfinished, format="JPEG", quality=_JPEG_QUALITY)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
