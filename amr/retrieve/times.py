"""Times as people write and read them: what --as-of, --from and --to accept, and how answers show a moment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

from amr.errors import UsageError
from amr.records import Node
from amr.store.rows import SourceRow

_DAY_MS = 86_400_000
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_NUMBERED_DAYS = int((datetime(2000, 1, 1, tzinfo=timezone.utc) - _EPOCH).total_seconds() * 1000)
"""DAYn of a recording without dates is kept as the n-th of January 2000."""

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(\.\d{1,3})?)?")
_NUMBERED_DAY = re.compile(r"DAY\s*(\d{1,2})(?:[\sT]+(.+))?", re.IGNORECASE)
_SECONDS = re.compile(r"-?\d+(?:\.\d+)?s?")
_DATE_ONLY = re.compile(r"\d{4}-\d{2}-\d{2}")


def parse_time(text: str, sources: Sequence[SourceRow], *, end_of_day: bool) -> int:
    """The moment that `text` names, in milliseconds on the clock of `sources` (wall clock, else media time).

    Takes ISO 8601, HH:MM[:SS], `DAYn [HH:MM:SS]` and seconds. A clock time alone is media time where the
    sources have no wall clock, else that time on the last day seen. A day alone is its start, or its end
    with `end_of_day`. Raises UsageError when the text cannot be understood.
    """
    wanted = text.strip()
    day = _NUMBERED_DAY.fullmatch(wanted)
    if day:
        midnight = _NUMBERED_DAYS + (int(day[1]) - 1) * _DAY_MS
        if not day[2]:
            return midnight + _DAY_MS - 1 if end_of_day else midnight
        return midnight + _clock_ms(day[2], text)
    if _CLOCK.fullmatch(wanted):
        last = _last_moment(sources)
        midnight = 0 if last is None else last - last % _DAY_MS
        return midnight + _clock_ms(wanted, text)
    if _SECONDS.fullmatch(wanted):
        return _from_start(round(float(wanted.rstrip("s")) * 1000), sources)
    return _iso_ms(wanted, text, end_of_day)


def parse_wall_time(text: str) -> int:
    """An ISO 8601 wall clock, as milliseconds since the epoch; without a zone it is this machine's local time.

    Raises UsageError when the text is something else.
    """
    try:
        milliseconds = round(datetime.fromisoformat(_with_offset(text.strip())).timestamp() * 1000)
    except (ValueError, OverflowError):
        reason = f"The time {text!r} cannot be understood; write ISO 8601, such as 2030-01-31T14:05:00."
        raise UsageError(reason) from None
    return milliseconds + _DAY_MS - 1 if _DATE_ONLY.fullmatch(text.strip()) else milliseconds


def _with_offset(text: str) -> str:
    return re.sub(r"[Zz]$", "+00:00", text)


def _clock_ms(clock: str, text: str) -> int:
    found = _CLOCK.fullmatch(clock.strip())
    if not found or int(found[2]) > 59 or int(found[3] or 0) > 59:
        raise _not_understood(text)
    seconds = int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3] or 0)
    return seconds * 1000 + round(float(found[4] or 0) * 1000)


def _last_moment(sources: Sequence[SourceRow]) -> int | None:
    dated = [(row.origin_wall_ms, row.duration_ms or 1) for row in sources if row.origin_wall_ms is not None]
    return max((start + max(0, length - 1) for start, length in dated), default=None)


def _from_start(milliseconds: int, sources: Sequence[SourceRow]) -> int:
    """Seconds count from the start of the earliest source that has a wall clock; else they are media time."""
    starts = [row.origin_wall_ms for row in sources if row.origin_wall_ms is not None]
    return milliseconds + min(starts, default=0)


def _iso_ms(wanted: str, text: str, end_of_day: bool) -> int:
    try:
        moment = datetime.fromisoformat(_with_offset(wanted))
    except ValueError:
        raise _not_understood(text) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    milliseconds = (moment - _EPOCH) // timedelta(milliseconds=1)
    if _DATE_ONLY.fullmatch(wanted) and end_of_day:
        milliseconds += _DAY_MS - 1
    return milliseconds


def _not_understood(text: str) -> UsageError:
    return UsageError(
        f"The time {text!r} cannot be understood; write ISO 8601 (2000-01-31T14:05:00), HH:MM:SS, DAY1 14:05:00"
        " or seconds."
    )


def iso_time(time_ms: int) -> str:
    """A wall clock in milliseconds as ISO 8601 without a zone."""
    moment = _EPOCH + timedelta(milliseconds=time_ms)
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds" if time_ms % 1000 else "seconds")


def show_time(node: Node) -> str:
    """When a node starts, as people read it: DAYn HH:MM:SS, YYYY-MM-DD HH:MM:SS, or HH:MM:SS of the source."""
    return show_moment(node.time_ms, node.t_start_ms)


def show_moment(time_ms: int | None, media_ms: int | None) -> str:
    """A wall clock if there is one, else a time from the start of the source; both in milliseconds."""
    if time_ms is None:
        return _hours(media_ms or 0)
    moment = _EPOCH + timedelta(milliseconds=time_ms)
    clock = moment.strftime("%H:%M:%S")
    if moment.year == 2000 and moment.month == 1:
        return f"DAY{moment.day} {clock}"
    return f"{moment:%Y-%m-%d} {clock}"


def _hours(milliseconds: int) -> str:
    seconds = abs(milliseconds) // 1000
    sign = "-" if milliseconds < 0 else ""
    return f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
