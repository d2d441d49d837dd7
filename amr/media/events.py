"""Reads the events JSONL: clips of one or more sources with their ready-made analyses.

The file is read twice: once whole, to find every fault and where each clip's line is, and then line by line as
its clips are asked for. Only the places of the lines are held in memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, NamedTuple

from amr.errors import BadInput
from amr.media.lines import numbered_lines, opened, read_row
from amr.records import EventsRow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from amr.records import ClipAnalysis

_CLOCK_SLACK_MS = 1000


class Line(NamedTuple):
    """Where a clip's row is in the file, and the clip's times in milliseconds."""

    clip: int
    start_ms: int
    end_ms: int
    offset: int
    number: int


@dataclass
class EventsSource:
    """One source of an events file; its lines are in clip order. `origin_wall_ms` is its zero on the wall clock."""

    path: Path
    name: str
    lines: list[Line] = field(default_factory=list)
    origin_wall_ms: int | None = None

    def analyses(self, lines: list[Line]) -> Iterator[tuple[Line, ClipAnalysis]]:
        """The analyses of some of the lines, read from the file one by one."""
        with opened(self.path) as file:
            for line in lines:
                file.seek(line.offset)
                yield line, _row(self.path, line.number, file.readline()).analysis


def read_events(path: Path) -> list[EventsSource]:
    """The sources of an events file, in order of first appearance. Raises BadInput with the line number."""
    sources: dict[str, EventsSource] = {}
    with opened(path) as file:
        for number, offset, raw in numbered_lines(file):
            _note(path, sources, _row(path, number, raw), offset, number)
    if not sources:
        raise BadInput(f"The events file {path} holds no row; give one JSON object per clip and line.")
    for source in sources.values():
        _put_in_order(source)
    return list(sources.values())


def wall_ms(text: str) -> int:
    """An ISO 8601 wall clock as milliseconds since the epoch, UTC if it has no offset. Raises ValueError."""
    time = datetime.fromisoformat(text.strip().replace("Z", "+00:00").replace("z", "+00:00"))
    aware = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
    return round((aware - epoch).total_seconds() * 1000)


def agreed_origin(known: int | None, start_ms: int, time: str | None, where: str) -> int | None:
    """A source's zero on the wall clock, after one more clip that starts at `start_ms` and at `time`.

    Raises BadInput, beginning with `where`, when the time is unreadable or disagrees by more than a second.
    """
    if time is None:
        return known
    try:
        origin = wall_ms(time) - start_ms
    except ValueError as error:
        message = f"{where}: time {time!r} is not ISO 8601, such as 2024-05-01T09:30:00Z."
        raise BadInput(message) from error
    if known is not None and abs(known - origin) > _CLOCK_SLACK_MS:
        raise BadInput(
            f"{where}: time {time!r} and t_start disagree by more than 1 s with the rows before; correct one."
        )
    return origin if known is None else known


def _row(path: Path, number: int, raw: bytes) -> EventsRow:
    row = read_row(EventsRow, f"{path}, line {number}", raw, "events")
    if not (math.isfinite(row.t_start) and math.isfinite(row.t_end)):
        raise BadInput(f"{path}, line {number}: t_start and t_end must be numbers of seconds.")
    return row


def _note(path: Path, sources: dict[str, EventsSource], row: EventsRow, offset: int, number: int) -> None:
    source = sources.setdefault(row.source, EventsSource(path, row.source))
    start_ms, end_ms = round(row.t_start * 1000), round(row.t_end * 1000)
    where = f"{path}, line {number}"
    source.origin_wall_ms = agreed_origin(source.origin_wall_ms, start_ms, row.time, where)
    source.lines.append(Line(row.clip, start_ms, end_ms, offset, number))


def _put_in_order(source: EventsSource) -> None:
    source.lines.sort(key=lambda line: (line.clip, line.number))
    for before, line in zip(source.lines, source.lines[1:], strict=False):
        where = f"{source.path}, line {line.number}"
        if line.clip == before.clip:
            raise BadInput(
                f"{where}: clip {line.clip} of {source.name!r} is given twice (also on line {before.number}); "
                "number the clips 0, 1, 2, …"
            )
        if line.start_ms < before.start_ms:
            raise BadInput(
                f"{where}: clip {line.clip} of {source.name!r} starts before clip {before.clip}; "
                "number the clips in time order."
            )
