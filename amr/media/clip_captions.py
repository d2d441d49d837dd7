"""Reads EgoLife's clip-by-clip captions: a JSONL with one line per clip file and its captions and transcript.

    {"video_file": "DAY1_A1_JAKE_11094208.mp4",
     "data": [{"start": 110943, "end": 110944, "text": "I hold my phone.", "type": "caption"}, …]}

Times are numbers HHMMSS on the wall clock. A clip begins where its file name says and ends 30 s later, or where the
next begins if that is sooner. A `caption` is what the wearer tells, a `transcript` is speech. What to make of lines
that are not as they should be:

- a time belongs to the day on which it is nearest to its clip's beginning, so lines may cross midnight;
- a line that ends before it starts has no length;
- a line that starts more than a second before its clip or after its end is moved to that edge, and one that ends
  more than 30 s after the clip ends with it;
- a line without text, a line that its clip repeats, and a line at the end of a clip that the next one repeats are
  left out. What was mended or left out is counted in a warning.

As an events file it is read twice, once whole and then line by line, and may grow.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from amr.errors import BadInput
from amr.media.egolife import DAY_MS, clock_ms, read_clip_name
from amr.media.lines import numbered_lines, opened, read_row
from amr.records import ClipCaptionsRow, Cue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from amr.records import CaptionLine, CueKind

_CLIP_MS = 30_000
_ROUNDING_MS = 1000
_TOLD = {
    "empty": "{} without text left out",
    "repeated": "{} given twice, kept once",
    "backwards": "{} ended before the start and got no length",
    "outside": "{} outside of the clip moved to its edge",
}


class Line(NamedTuple):
    """Where a clip's row is in the file. Times are on the wall clock, in milliseconds.

    `edges` are the cues at the clip's edges, which the clips beside it may repeat.
    """

    file: str
    start_ms: int
    end_ms: int
    offset: int
    number: int
    edges: frozenset[Cue]


@dataclass
class CaptionedClips:
    """One camera of a file; its lines are in time order. `first_day_ms` is 00:00 of the first day."""

    path: Path
    name: str
    wearer: str
    first_day_ms: int
    lines: list[Line] = field(default_factory=list)
    mended: Counter[str] = field(default_factory=Counter)

    def numbered(self, known: Mapping[str, int]) -> list[tuple[int, Line]]:
        """The lines with their clip indexes: those of `known` files stay, the others follow in time order."""
        old = sorted((known[line.file], line) for line in self.lines if line.file in known)
        new = (line for line in self.lines if line.file not in known)
        return old + list(enumerate(new, start=max(known.values(), default=-1) + 1))

    def cues(self, wanted: list[tuple[int, Line]]) -> Iterator[tuple[int, Line, list[Cue]]]:
        """The cues of some of the clips, on the wall clock, read from the file one by one."""
        before = {line.file: earlier for earlier, line in zip(self.lines, self.lines[1:], strict=False)}
        with opened(self.path) as file:
            for index, line in wanted:
                file.seek(line.offset)
                cues = _cues(_row(self.path, line.number, file.readline()), line.start_ms, Counter())
                told = before[line.file].edges if line.file in before else frozenset()
                yield index, line, [cue for cue in cues if cue not in told]

    def warnings(self) -> list[str]:
        """What was mended or left out, in one sentence; none if nothing was."""
        parts = [
            text.format(f"{self.mended[kind]} line{'s'[: self.mended[kind] > 1]}")
            for kind, text in _TOLD.items()
            if self.mended[kind]
        ]
        return [f"{self.path.name}, {self.name}: {'; '.join(parts)}."] if parts else []


def is_clip_captions(path: Path) -> bool:
    """Whether the first line of a JSONL is one of clip-by-clip captions. Raises BadInput."""
    with opened(path) as file:
        first = next(numbered_lines(file), None)
    return first is not None and b'"video_file"' in first[2]


def read_clip_captions(path: Path) -> list[CaptionedClips]:
    """The cameras of a file, in order of first appearance. Raises BadInput with the line number."""
    cameras: dict[str, CaptionedClips] = {}
    with opened(path) as file:
        for number, offset, raw in numbered_lines(file):
            _note(path, cameras, _row(path, number, raw), offset, number)
    for camera in cameras.values():
        _put_in_order(camera)
    return list(cameras.values())


def _row(path: Path, number: int, raw: bytes) -> ClipCaptionsRow:
    return read_row(ClipCaptionsRow, f"{path}, line {number}", raw, "clip_captions", strict=False)


def _note(path: Path, cameras: dict[str, CaptionedClips], row: ClipCaptionsRow, offset: int, number: int) -> None:
    where = f"{path}, line {number}"
    name = read_clip_name(row.video_file.rpartition(".")[0] or row.video_file)
    if name is None:
        raise BadInput(
            f"{where}: video_file {row.video_file!r} tells no day and time; a name such as "
            "DAY1_A1_JAKE_11094208.mp4 was expected."
        )
    for place, said in enumerate(row.data):
        for key, value in (("start", said.start), ("end", said.end)):
            if clock_ms(value) is None:
                raise BadInput(f"{where}: data.{place}.{key} {value} is no time of day HHMMSS; correct it.")
    camera = cameras.setdefault(name.camera, CaptionedClips(path, name.camera, name.wearer, name.day_wall_ms))
    camera.first_day_ms = min(camera.first_day_ms, name.day_wall_ms)
    start = name.day_wall_ms + name.clock_ms
    last = start + _CLIP_MS - _ROUNDING_MS
    cues = _cues(row, start, camera.mended)
    edges = frozenset(cue for cue in cues if cue.start_ms <= start + _ROUNDING_MS or cue.start_ms >= last)
    camera.lines.append(Line(row.video_file, start, start + _CLIP_MS, offset, number, edges))


def _put_in_order(camera: CaptionedClips) -> None:
    camera.lines.sort(key=lambda line: (line.start_ms, line.number))
    for place, (line, after) in enumerate(zip(camera.lines, camera.lines[1:], strict=False)):
        if line.start_ms == after.start_ms:
            raise BadInput(
                f"{camera.path}, line {after.number}: the clip {after.file} is given twice (also on line "
                f"{line.number}); keep one line."
            )
        camera.lines[place] = line._replace(end_ms=min(line.end_ms, after.start_ms))
        camera.mended["repeated"] += len(line.edges & after.edges)


def _cues(row: ClipCaptionsRow, clip_ms: int, mended: Counter[str]) -> list[Cue]:
    """A clip's cues in time order, by the rules above; `mended` counts what was done to them."""
    cues = []
    for said in row.data:
        if said.text.strip():
            cues.append(_cue(said, clip_ms, mended))
        else:
            mended["empty"] += 1
    once = list(dict.fromkeys(cues))
    mended["repeated"] += len(cues) - len(once)
    return sorted(once, key=lambda cue: cue.start_ms)


def _cue(said: CaptionLine, clip_ms: int, mended: Counter[str]) -> Cue:
    end_ms = clip_ms + _CLIP_MS
    start, end = _nearest(said.start, clip_ms), _nearest(said.end, clip_ms)
    inside = clip_ms - _ROUNDING_MS < start <= end_ms
    if not inside:
        start = end = min(max(start, clip_ms), end_ms)
    elif end > end_ms + _CLIP_MS:
        inside, end = False, end_ms
    mended["outside"] += not inside
    mended["backwards"] += end < start
    kind: CueKind = "narration" if said.type == "caption" else "speech"
    return Cue(start, max(start, end), said.text.strip(), kind)


def _nearest(hhmmss: int, wall_ms: int) -> int:
    """The moment with this time of day that is nearest to a moment, on the wall clock."""
    time = clock_ms(hhmmss)
    assert time is not None, "the times of a file are checked before its cues are made"
    half = DAY_MS // 2
    return wall_ms + (time - wall_ms + half) % DAY_MS - half
