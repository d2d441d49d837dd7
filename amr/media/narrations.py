"""Reads narrations of EPIC-KITCHENS and any CSV of the same columns: one source per video, one cue per row.

    narration_id,video_id,start_timestamp,stop_timestamp,narration
    P01_11_1,P01_11,00:00:01.56,00:00:02.45,put down plate

Only these columns are read, whatever others there are; `narration_id` may be missing. Times are H:MM:SS.fff or
seconds, from the video's start. Rows may be in any order and overlap. A row that is there twice is kept once, and one
without a narration is left out; a warning counts them. Anything else that is wrong refuses the file as a whole. Rows
belong together by `video_id`: a file that tells other rows of a video replaces what was told of it before.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from blake3 import blake3

from amr.errors import BadInput
from amr.media.lines import opened
from amr.records import Cue

if TYPE_CHECKING:
    from pathlib import Path

_COLUMNS = ("video_id", "start_timestamp", "stop_timestamp", "narration")
_ID = "narration_id"
_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,2}):(\d{1,2}(?:\.\d+)?)|(\d+(?:\.\d+)?)")


@dataclass
class Narrated:
    """One video of a file: its narrations in time order."""

    path: Path
    name: str
    cues: list[Cue] = field(default_factory=list)
    mended: Counter[str] = field(default_factory=Counter)

    def content_key(self) -> str:
        """Stands for every narration with its times."""
        hasher = blake3()
        for cue in self.cues:
            hasher.update(f"{cue.start_ms}\0{cue.end_ms}\0{cue.ref}\0{cue.text}\n".encode())
        return hasher.hexdigest()

    def warnings(self) -> list[str]:
        """What was left out, in one sentence; none if nothing was."""
        parts = [f"{count} {what} left out" for what, count in sorted(self.mended.items())]
        return [f"{self.path.name}, {self.name}: {'; '.join(parts)}."] if parts else []


def read_narrations(path: Path) -> list[Narrated]:
    """The videos of a CSV, in order of first appearance. Raises BadInput with the row and the column."""
    videos: dict[str, Narrated] = {}
    seen: dict[tuple[str, str], tuple[int, Cue]] = {}
    try:
        with opened(path) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            rows = csv.reader(text, strict=True)
            header = [name.strip() for name in next(rows, [])]
            _check_header(path, header)
            for row in rows:
                if any(cell.strip() for cell in row):
                    _note(path, rows.line_num, _cells(path, rows.line_num, header, row), videos, seen)
    except (csv.Error, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is not a readable CSV file ({error}); correct it.") from error
    told = [video for video in videos.values() if video.cues]
    if not told:
        raise BadInput(f"{path} holds no narration; give a file with at least one.")
    for video in told:
        video.cues.sort(key=lambda cue: cue.start_ms)
    return told


def _check_header(path: Path, header: list[str]) -> None:
    missing = [name for name in _COLUMNS if name not in header]
    twice = [name for name in (*_COLUMNS, _ID) if header.count(name) > 1]
    if missing or twice:
        fault = f"no column {missing[0]!r}" if missing else f"the column {twice[0]!r} is there twice"
        raise BadInput(f"{path}, line 1: {fault}; narrations need {', '.join(_COLUMNS)}.")


def _cells(path: Path, number: int, header: list[str], row: list[str]) -> dict[str, str]:
    if len(row) != len(header):
        raise BadInput(f"{path}, line {number}: {len(row)} values for {len(header)} columns; correct the line.")
    return {name: cell.strip() for name, cell in zip(header, row, strict=True)}


def _note(
    path: Path,
    number: int,
    cells: dict[str, str],
    videos: dict[str, Narrated],
    seen: dict[tuple[str, str], tuple[int, Cue]],
) -> None:
    """Adds a row to its video. `seen` tells the rows there are by video and id, or by what they say without one."""
    where = f"{path}, line {number}"
    name = cells["video_id"]
    if not name:
        raise BadInput(f"{where}: video_id is empty; name the video.")
    start, end = (_time(where, column, cells[column]) for column in ("start_timestamp", "stop_timestamp"))
    if end < start:
        raise BadInput(f"{where}: stop_timestamp is before start_timestamp; correct one.")
    video = videos.setdefault(name, Narrated(path, name))
    cue = Cue(start, end, " ".join(cells["narration"].split()), "narration", cells.get(_ID, ""))
    if not cue.text:
        video.mended["without a narration"] += 1
        return
    known_as = cue.ref or f"{start} {end} {cue.text}"
    first, before = seen.setdefault((name, known_as), (number, cue))
    if before is cue:
        video.cues.append(cue)
    elif before == cue:
        video.mended["given twice"] += 1
    else:
        raise BadInput(f"{where}: narration_id {cue.ref!r} is given to another row too (line {first}); correct one.")


def _time(where: str, column: str, text: str) -> int:
    """A time of a row in milliseconds."""
    match = _CLOCK.fullmatch(text)
    if not match:
        raise BadInput(f"{where}: {column} {text!r} is no time such as 00:01:02.50; correct it.")
    hours, minutes, seconds, alone = match.groups()
    if alone is not None:
        return round(float(alone) * 1000)
    if int(minutes) > 59 or float(seconds) >= 60:
        raise BadInput(f"{where}: {column} {text!r} is no time such as 00:01:02.50; correct it.")
    return (int(hours or 0) * 60 + int(minutes)) * 60_000 + round(float(seconds) * 1000)
