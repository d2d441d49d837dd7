"""Folders of clip files: their order, their times, and waiting for more of them."""

from __future__ import annotations

import csv
import re
import time
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from operator import itemgetter
from typing import TYPE_CHECKING

from amr.errors import BadInput
from amr.media.egolife import read_clip_name
from amr.media.events import agreed_origin
from amr.media.probe import probe
from amr.media.spans import Span
from amr.media.video import whole_clip
from amr.records import Clip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Set
    from pathlib import Path

    from amr.config import Settings

VIDEO_SUFFIXES = (
    *(".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".ts"),
    *(".mts", ".m2ts", ".3gp", ".wmv", ".flv", ".ogv", ".insv", ".lrv"),
)
LIST_NAME = "clips.csv"

_COLUMNS = ("file", "t_start", "t_end", "time")
_EARLY = "{} came after files whose names sort behind it; its clip was added at the end."
_POLL_S = 1.0
_UNCHANGED_POLLS = 2
_HOPELESS_POLLS = 10
"""A file that has not changed for so many polls and still cannot be opened is broken, not unfinished."""


@dataclass(frozen=True)
class Listed:
    """A clip file of a folder. Times are None where only the file's own length tells."""

    path: Path
    start_ms: int | None = None
    end_ms: int | None = None
    origin_wall_ms: int | None = None


def list_folder(folder: Path) -> list[Listed]:
    """The clip files of a folder, as `clips.csv` in it gives them, else by name with numbers in number order.

    Those in folders DAY1, DAY2, … belong to it too. Names as EgoLife's (`DAY1_A1_JAKE_11094208.mp4`) tell the wall
    clock: day n is 2000-01-0n. Raises BadInput.
    """
    if (folder / LIST_NAME).is_file():
        return _from_list(folder / LIST_NAME)
    inside = [*folder.iterdir(), *folder.glob("DAY[0-9]*/*")]
    paths = [path for path in inside if path.suffix.lower() in VIDEO_SUFFIXES and path.is_file()]
    return [_from_name(path) for path in sorted(paths, key=natural) if not path.name.startswith(".")]


def natural(path: Path) -> tuple[list[tuple[int, str]], str]:
    """Sorts names as a person does: clip2 before clip10."""
    parts = re.findall(r"\d+|\D+", path.name.casefold())
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts], path.name


def first_day_ms(listed: list[Listed]) -> int | None:
    """The wall clock of a folder's zero: 00:00 of its first day, or what its `clips.csv` says; None without."""
    known = [clip.origin_wall_ms for clip in listed if clip.origin_wall_ms is not None]
    return min(known, default=None)


def numbered(
    listed: list[Listed], known: Mapping[str, int], warnings: list[str] | None = None
) -> list[tuple[int, Listed]]:
    """The files with their clip indexes, in index order.

    A file whose name is in `known` keeps that index; the others follow, even those whose names sort before
    known ones, which is told in `warnings`. Rows of a `clips.csv` are numbered as they stand.
    """
    if any(clip.end_ms is not None for clip in listed):
        return list(enumerate(listed))
    old = [(known[clip.path.name], clip) for clip in listed if clip.path.name in known]
    old.sort(key=itemgetter(0))
    new = [clip for clip in listed if clip.path.name not in known]
    if old and new and natural(new[0].path) < max(natural(clip.path) for _, clip in old) and warnings is not None:
        warnings.append(_EARLY.format(new[0].path.name))
    return old + list(enumerate(new, start=max(known.values(), default=-1) + 1))


def folder_clips(
    listed: Iterable[tuple[int, Listed]],
    settings: Settings,
    done: Set[int],
    origin_wall_ms: Callable[[], int | None],
) -> Iterator[Clip]:
    """The clips of numbered files, except those in `done`. A file that cannot be read is a clip with `error`.

    `origin_wall_ms` tells the wall clock of the folder's zero, once its first file is there.
    """
    end_of_last: Callable[[], int] = int
    for index, clip_file in listed:
        start_ms = _start(clip_file, origin_wall_ms(), end_of_last)
        end_of_last = partial(_end, clip_file, start_ms)
        if index not in done:
            yield _read(clip_file.path, settings, Span(index, start_ms, end_of_last()))


def follow(
    folder: Path, known: Mapping[str, int], stop: Callable[[], bool], idle_s: float | None, warnings: list[str]
) -> Iterator[tuple[int, Listed]]:
    """The clip files of a folder, numbered as they become complete, until `stop()` or a quiet `idle_s` seconds.

    A file is taken when its size stayed the same for two polls and it opens; one that does not open is taken
    late, as broken. Files are taken in order of name; those that come later but sort earlier go to the end,
    which is told in `warnings`.
    """
    known = dict(known)
    taken: set[Path] = set()
    unchanged = _Unchanged()
    latest: tuple[list[tuple[int, str]], str] = ([], "")
    quiet_since = time.monotonic()
    while True:
        over = stop()
        idle = idle_s is not None and time.monotonic() - quiet_since >= idle_s
        waiting = [(i, clip) for i, clip in numbered(list_folder(folder), known) if clip.path not in taken]
        complete = [unchanged.is_complete(clip.path, last_chance=idle) for _, clip in waiting]
        for (index, clip), _ in takewhile(itemgetter(1), zip(waiting, complete, strict=True)):
            if over:
                return
            if clip.path.name not in known and natural(clip.path) < latest:
                warnings.append(_EARLY.format(clip.path.name))
            latest = max(latest, natural(clip.path))
            known[clip.path.name] = index
            taken.add(clip.path)
            yield index, clip
            over, idle, quiet_since = stop(), False, time.monotonic()
        if over or idle:
            return
        time.sleep(_POLL_S)


class _Unchanged:
    """For how many polls each file has kept its size."""

    def __init__(self) -> None:
        self._polls: dict[Path, tuple[int, int]] = {}

    def is_complete(self, path: Path, last_chance: bool) -> bool:
        """Polls a file: is it whole, or broken for good? With `last_chance`, one that does not open is broken."""
        try:
            size = path.stat().st_size
        except OSError:
            return False
        before, polls = self._polls.get(path, (-1, 0))
        polls = polls + 1 if size == before else 0
        self._polls[path] = (size, polls)
        if polls < _UNCHANGED_POLLS:
            return False
        try:
            probe(path)
        except BadInput:
            return last_chance or polls >= _HOPELESS_POLLS
        return True


def _start(clip_file: Listed, origin_wall_ms: int | None, end_of_last: Callable[[], int]) -> int:
    if clip_file.start_ms is None:
        return end_of_last()
    if clip_file.origin_wall_ms is None or origin_wall_ms is None:
        return clip_file.start_ms
    return clip_file.start_ms + clip_file.origin_wall_ms - origin_wall_ms


def _end(clip_file: Listed, start_ms: int) -> int:
    """Where a file that starts at `start_ms` ends on the source's clock; a broken one has no length."""
    if clip_file.start_ms is not None and clip_file.end_ms is not None:
        return start_ms + clip_file.end_ms - clip_file.start_ms
    try:
        return start_ms + probe(clip_file.path).duration_ms
    except BadInput:
        return start_ms


def _read(path: Path, settings: Settings, span: Span) -> Clip:
    try:
        return whole_clip(probe(path), settings, span)
    except BadInput as error:
        return Clip(span.index, span.start_ms, span.end_ms, path=path, uri=str(path), error=str(error))


def _from_name(path: Path) -> Listed:
    name = read_clip_name(path.stem)
    return Listed(path) if name is None else Listed(path, name.clock_ms, None, name.day_wall_ms)


def _from_list(path: Path) -> list[Listed]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, strict=True)
            header = [name.strip() for name in next(rows, [])]
            _check_header(path, header)
            listed: list[Listed] = []
            for row in rows:
                if any(cell.strip() for cell in row):
                    listed.append(_from_row(path, rows.line_num, header, row, listed))
            return listed
    except (csv.Error, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is not a readable CSV file ({error}); correct it.") from error


def _check_header(path: Path, header: list[str]) -> None:
    unknown = [name for name in header if name not in _COLUMNS]
    missing = [name for name in _COLUMNS[:3] if name not in header]
    fault = f"unknown column {unknown[0]!r}" if unknown else f"no column {missing[0]!r}" if missing else None
    if fault or len(set(header)) != len(header):
        fault = fault or "a column is given twice"
        raise BadInput(f"{path}, line 1: {fault}; the header is file,t_start,t_end and, if known, time.")


def _from_row(path: Path, number: int, header: list[str], row: list[str], before: list[Listed]) -> Listed:
    where = f"{path}, line {number}"
    if len(row) != len(header):
        raise BadInput(f"{where}: {len(row)} values for {len(header)} columns; correct the line.")
    cells = {name: cell.strip() for name, cell in zip(header, row, strict=True)}
    start_ms, end_ms = (_seconds(where, name, cells[name]) for name in ("t_start", "t_end"))
    if end_ms < start_ms:
        raise BadInput(f"{where}: t_end is before t_start; correct the line.")
    file = path.parent / cells["file"]
    if not cells["file"] or not file.is_file():
        raise BadInput(f"{where}: the file {cells['file']!r} is not in the folder; add it or delete the line.")
    if any(other.path == file for other in before):
        raise BadInput(f"{where}: the file {cells['file']!r} is given twice; keep one line.")
    if before and start_ms < (before[-1].start_ms or 0):
        raise BadInput(f"{where}: t_start is before that of the line above; give the clips in time order.")
    known = before[-1].origin_wall_ms if before else None
    return Listed(file, start_ms, end_ms, agreed_origin(known, start_ms, cells.get("time") or None, where))


def _seconds(where: str, name: str, text: str) -> int:
    try:
        return round(float(text) * 1000)
    except (ValueError, OverflowError) as error:
        raise BadInput(f"{where}: {name} {text!r} is not a number of seconds.") from error
