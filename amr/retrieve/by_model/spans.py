"""The times that a claim states, held against the times of the events it cites."""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from datetime import datetime, timezone

from amr.records import Node

_CLOCK = re.compile(r"\b(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\s*([ap])\.?m\b)?|\b(\d{1,2})\s*([ap])\.?m\b", re.IGNORECASE)
_DAY = re.compile(r"\bDAY\s?(\d{1,2})\b", re.IGNORECASE)
_DATE = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})(?:T(?=\d))?\b")
_MONTHS = [name.lower() for name in calendar.month_name[1:]]
_MONTH = "|".join(_MONTHS)
_SPOKEN = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\b(?:,? (\d{{4}}))?"
    rf"|\b({_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (\d{{4}}))?",
    re.IGNORECASE,
)
_PART = re.compile(r"\b(morning|noon|afternoon|evening|night|midnight)\b", re.IGNORECASE)
_PARTS = {
    "morning": (4, 12),
    "noon": (11, 14),
    "afternoon": (12, 18),
    "evening": (17, 24),
    "night": (19, 29),
    "midnight": (23, 25),
}
"""From and to which hour; beyond 24 is the next day."""
_DAY_S = 86_400


def without_times(claim: str, nodes: Sequence[Node], said: str) -> tuple[str, str]:
    """The claim without the times in it, and the first of them that is neither said nor when an event happens."""
    wrong = ""
    for pattern, fits in _KINDS:
        for found in pattern.finditer(claim):
            if not wrong and found[0].strip().lower() not in said.lower():
                wrong = "" if any(fits(found, node) for node in nodes) else found[0].strip()
        claim = pattern.sub(" ", claim)
    return claim, wrong


def date_words(node: Node) -> str:
    """The date of a node as people say it: "Monday 8 May 2023"; nothing where the recording has only numbered days."""
    moment = _moment(node)
    numbered = moment is None or (moment.year, moment.month) == (2000, 1)
    return "" if moment is None or numbered else f"{moment:%A} {moment.day} {moment:%B} {moment.year}"


def _moment(node: Node) -> datetime | None:
    return None if node.time_ms is None else datetime.fromtimestamp(node.time_ms / 1000, timezone.utc)


def _span(node: Node) -> tuple[int, int]:
    """From and to which second of its day, or of its source, an event is."""
    start = node.t_start_ms or 0
    length = max(0, (node.t_end_ms or start) - start)
    begin = start // 1000 if node.time_ms is None else node.time_ms // 1000 % _DAY_S
    return begin, begin + -(-length // 1000)


def _is_clock(found: re.Match[str], node: Node) -> bool:
    hour, minute, second, half, bare_hour, bare_half = found.groups()
    hours = int(hour or bare_hour)
    half = (half or bare_half or "").lower()
    if half:
        hours = hours % 12 + (12 if half == "p" else 0)
    first = hours * 3600 + int(minute or 0) * 60 + int(second or 0)
    last = first + (0 if second else 59 if minute else 3599)
    begin, end = _span(node)
    return begin <= last and first <= end


def _is_day(found: re.Match[str], node: Node) -> bool:
    moment = _moment(node)
    return moment is not None and (moment.year, moment.month, moment.day) == (2000, 1, int(found[1]))


def _is_date(found: re.Match[str], node: Node) -> bool:
    moment = _moment(node)
    return moment is not None and (moment.year, moment.month, moment.day) == tuple(map(int, found.groups()))


def _is_spoken(found: re.Match[str], node: Node) -> bool:
    moment = _moment(node)
    day, month, year = (found[1], found[2], found[3]) if found[1] else (found[5], found[4], found[6])
    if moment is None or (year and moment.year != int(year)):
        return False
    return (moment.month, moment.day) == (_MONTHS.index(month.lower()) + 1, int(day))


def _is_part(found: re.Match[str], node: Node) -> bool:
    moment = _moment(node)
    first, last = _PARTS[found[1].lower()]
    return moment is not None and any(first <= hour < last for hour in (moment.hour, moment.hour + 24))


_KINDS = ((_DATE, _is_date), (_SPOKEN, _is_spoken), (_DAY, _is_day), (_CLOCK, _is_clock), (_PART, _is_part))
