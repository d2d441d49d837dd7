"""EgoLife's files: their names tell the camera, its wearer and the wall clock (`DAY1_A1_JAKE_11094208.mp4`)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from amr.media.captions import read_captions
from amr.media.events import wall_ms
from amr.records import CueKind

if TYPE_CHECKING:
    from pathlib import Path

    from amr.records import Cue

DAY_MS = 24 * 3600 * 1000
FIRST_DAY_MS = wall_ms("2000-01-01T00:00:00Z")
"""Day n is stored as 2000-01-0n."""

_NAME = re.compile(r"(?:DAY(\d{1,4})_(.+)|(.+)_DAY(\d{1,4}))_(\d\d)(\d\d)(\d\d)(\d\d)$")
_CAMERA = re.compile(r"A\d+_([^\W\d_]+)$")
_FRAMES_PER_S = 20
_TOLD_IN = ("Transcript", "DenseCaption", "EgoLifeCap/Transcript", "EgoLifeCap/DenseCaption")
"""Where the data set keeps what is told of the videos, beside the folders of the cameras."""

_KINDS: dict[str, CueKind] = {"Transcript": "speech", "DenseCaption": "narration"}


@dataclass(frozen=True)
class ClipName:
    """What a clip file's name says: who recorded (`A1_JAKE`), 00:00 of its day, and the time since then."""

    camera: str
    day_wall_ms: int
    clock_ms: int

    @property
    def wearer(self) -> str:
        """The name of the person who wears the camera, "" for a camera that nobody wears."""
        worn = _CAMERA.match(self.camera)
        return worn[1].title() if worn else ""


def read_clip_name(stem: str) -> ClipName | None:
    """What the name of a clip file, without its suffix, says; None when it is not one of EgoLife's.

    The day may also follow the camera, as in `A1_JAKE_DAY1_11000000.srt`, the transcript of an hour.
    """
    match = _NAME.match(stem)
    if not match:
        return None
    day = int(match[1] or match[4])
    hours, minutes, seconds, frames = (int(part) for part in match.group(5, 6, 7, 8))
    if not (day and hours < 24 and minutes < 60 and seconds < 60):
        return None
    clock = ((hours * 60 + minutes) * 60 + seconds) * 1000 + frames * 1000 // _FRAMES_PER_S
    return ClipName(match[2] or match[3], FIRST_DAY_MS + (day - 1) * DAY_MS, clock)


def hour_files(folder: Path, camera: str | None = None) -> dict[str, list[Path]]:
    """The captions and transcripts of hours, by camera: in a folder and, of one `camera`, beside it too."""
    found = [file for depth in ("*", "*/*", "*/*/*") for file in folder.glob(f"{depth}.srt")]
    if camera is not None:
        around = (folder.parent, folder.parent.parent)
        found += [file for root in around for told in _TOLD_IN for file in (root / told / camera).glob("DAY*/*.srt")]
    by_camera: dict[str, list[Path]] = {}
    for file in sorted(set(found)):
        name = read_clip_name(file.stem)
        # A caption file named after a video begins with the day and lies beside its video.
        if name is not None and not file.name.startswith("DAY") and camera in (None, name.camera):
            by_camera.setdefault(name.camera, []).append(file)
    return by_camera


def read_hours(files: list[Path]) -> list[Cue]:
    """The cues of such files in time order, on the wall clock. Raises BadInput.

    What lies in a folder DenseCaption is told by the wearer, what lies in a folder Transcript is speech.
    """
    cues: list[Cue] = []
    for file in files:
        name = read_clip_name(file.stem)
        assert name is not None, "only files whose names tell the hour are read"
        start = name.day_wall_ms + name.clock_ms
        kind = _kind_in(file)
        cues += [
            replace(cue, start_ms=start + cue.start_ms, end_ms=start + cue.end_ms, kind=kind)
            for cue in read_captions(file)
        ]
    return sorted(cues, key=lambda cue: cue.start_ms)


def _kind_in(file: Path) -> CueKind | None:
    for part in reversed(file.parts[:-1]):
        if part in _KINDS:
            return _KINDS[part]
    return None


def clock_ms(hhmmss: int) -> int | None:
    """A time of day written as the number HHMMSS, in milliseconds since midnight; None when it is none."""
    hours, minutes, seconds = hhmmss // 10_000, hhmmss // 100 % 100, hhmmss % 100
    if not (0 <= hours < 24 and minutes < 60 and seconds < 60):
        return None
    return ((hours * 60 + minutes) * 60 + seconds) * 1000
