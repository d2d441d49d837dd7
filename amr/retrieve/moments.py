"""Time words of a question, "yesterday evening" or "at 10:30", as limits on the clock of the sources."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000
_NUMBERED_DAYS = 946_684_800_000
"""DAYn of a recording without dates is the n-th of January 2000."""

_NIGHT_ENDS = 5 * _HOUR
_PARTS: dict[str, tuple[float, float]] = {
    "morning": (4, 12.5), "afternoon": (11.5, 18.5), "evening": (17, 24), "night": (17, 29), "noon": (11, 13.5),
}  # fmt: skip
"""From and to of the parts of a day in hours since midnight; people draw the lines roughly, so they overlap."""

_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "ten": 10, "half": 0.5}
_UNITS = {"second": 1000, "minute": _MINUTE, "hour": _HOUR, "day": _DAY, "week": 7 * _DAY}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_CLOCK = (
    r"(?:(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))(?::\d{2})?(?:\s*(?P<half>[ap]\.?m\b\.?))?"
    r"|(?P<hour12>\d{1,2})\s*(?P<half12>[ap]\.?m\b\.?|o'clock))"
)

Range = tuple[int, int]


@dataclass(frozen=True)
class Moment:
    """The limits in milliseconds on the wall clock, both included, if any, and the question without its time words."""

    limits: Range | None
    text: str


@lru_cache(maxsize=64)
def read_moment(text: str, now: int) -> Moment:
    """The time that a question is limited to, seen from `now` (wall clock in milliseconds), if it is.

    What belongs to a thing ("the milk we bought yesterday") or to what was talked about ("the plan for tonight")
    does not limit the question.
    """
    day: int | None = None
    part: str | None = None
    limits: Range | None = None
    kept = text[:400]
    for pattern, read in _DAYS:
        found = _found(pattern, kept)
        if found is not None:
            day, part, kept = read(found, now), found.groupdict().get("part"), _without(kept, found)
            break
    if day is not None:
        limits = _of_day(day, (part or "").lower())
    for pattern, range_of in _RANGES:
        found = _found(pattern, kept)
        if found is not None:
            limits = range_of(found, now, day)
            kept = kept if found[0].lower() == "just now" else _without(kept, found)  # "just now" also says which
            break
    return Moment(limits, kept + text[400:])


def _found(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = pattern.search(text)
    return found if found is not None and _limits(text[: found.start()]) else None


def _without(text: str, found: re.Match[str]) -> str:
    return " ".join((text[: found.start()] + " " + text[found.end() :]).split())


_TOPIC = re.compile(r"\b(?:about|for|of|than|until|till|the|planned|like)\s*$", re.IGNORECASE)
_ASIDE = re.compile(
    r"\b(?:did|do|does|was|were|is|are|have|has|had|who|what)\b.*?\b(?!did|do|does|was|were|is|are|have|has|had|and|when|after"
    r"|before|while)\w+\s+(?:that|which|who|I|we|he|she|they|you)\s+(?!(?:did|was|were)\b)\w+",
    re.IGNORECASE,
)


def _limits(before: str) -> bool:
    """Whether time words behind these words limit the question itself."""
    aside = _ASIDE.search(before)
    joint = re.search(r"\b(?:after|before|when|while)\b", before[3:], re.IGNORECASE)
    return not _TOPIC.search(before) and (aside is None or (joint is not None and joint.start() + 3 < aside.end()))


def _midnight(now: int) -> int:
    """The start of the day that a person calls today; until five it is still yesterday night."""
    return now - now % _DAY - (_DAY if now % _DAY < _NIGHT_ENDS else 0)


def _of_day(midnight: int, part: str) -> Range:
    start, end = _PARTS.get(part, (0, 24))
    return midnight + int(start * _HOUR), midnight + int(end * _HOUR) - 1


def _weekday(found: re.Match[str], now: int) -> int:
    wanted = _WEEKDAYS.index(found["weekday"].lower())
    today = (_midnight(now) // _DAY + 3) % 7  # 1970-01-01 was a Thursday
    back = (today - wanted) % 7
    return _midnight(now) - (back or (7 if found["last"] else 0)) * _DAY


def _days_ago(found: re.Match[str], now: int) -> int:
    return _midnight(now) - int(_number(found["number"])) * _DAY


def _number(word: str) -> float:
    return float(word) if word.isdigit() else _NUMBERS[word.lower()]


_PART = r"(?P<part>morning|afternoon|evening|night)"
_COUNT = r"(?P<number>\d{1,3}|a|an|one|two|three|four|five|six|ten|half an?)"

_DAYS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], int], int]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), read)
    for pattern, read in (
        (
            rf"\b(?:on )?day ?(?P<n>\d{{1,2}})\b(?:,? (?:in the |at )?{_PART})?",
            lambda found, now: _NUMBERED_DAYS + (int(found["n"]) - 1) * _DAY,
        ),
        (rf"\bthe day before yesterday\b(?: (?:in the )?{_PART})?", lambda found, now: _midnight(now) - 2 * _DAY),
        (rf"\byesterday\b(?:,? (?:in the |at )?{_PART})?", lambda found, now: _midnight(now) - _DAY),
        (r"\blast (?P<part>night|evening)\b", lambda found, now: _midnight(now) - _DAY),
        (r"\b(?:this|today in the|in the) (?P<part>morning|afternoon|evening)\b", lambda found, now: _midnight(now)),
        (r"\b(?:earlier )?today\b", lambda found, now: _midnight(now)),
        (rf"\b(?P<last>last )?(?:on )?(?P<weekday>{'|'.join(_WEEKDAYS)})\b(?: {_PART})?", _weekday),
        (rf"\b{_COUNT} days? ago\b", _days_ago),
    )
)


def _tonight(found: re.Match[str], now: int, day: int | None) -> Range:
    return _of_day(_midnight(now), "night")


def _ago(found: re.Match[str], now: int, day: int | None) -> Range:
    unit = _UNITS[found["unit"].lower()]
    middle = now - int(_number(found["number"].split()[0]) * unit)
    around = max(unit // 2, 5 * _MINUTE)
    return middle - around, min(now, middle + around)


def _recently(found: re.Match[str], now: int, day: int | None) -> Range:
    groups = found.groupdict()
    if not groups.get("unit"):
        return now - 15 * _MINUTE, now
    number = _number((groups["number"] or "one").split()[0])
    return now - int(number * _UNITS[groups["unit"].lower()]), now


def _clock_of(found: re.Match[str], now: int, day: int | None) -> int:
    """The moment of a clock time: on the day that is named, else the last time that the clock showed it."""
    groups = found.groupdict()
    if groups.get("name"):
        hours, minutes, half = {"noon": 12, "midday": 12, "midnight": 0}[groups["name"].lower()], 0, "exact"
    else:
        hours, minutes = int(groups["hour"] or groups["hour12"]), int(groups["minute"] or 0)
        half = (groups["half"] or groups["half12"] or "").lower().replace(".", "")
    if half == "pm" and hours < 12:
        hours += 12
    if half == "am" and hours == 12:
        hours = 0
    hours %= 24
    moment = (now - now % _DAY if day is None else day) + hours * _HOUR + minutes * _MINUTE
    if day is None and not half and hours < 12 and moment + 12 * _HOUR <= now and hours < 7:
        moment += 12 * _HOUR  # "at 3:15", asked in the evening
    return moment - _DAY if day is None and moment > now else moment


def _at(found: re.Match[str], now: int, day: int | None) -> Range:
    moment, rough = _clock_of(found, now, day), found["how"].lower() != "at"
    around = (60 if found["name"] else 30 if rough else 10) * _MINUTE
    return moment - around, moment + around


def _from_or_to(found: re.Match[str], now: int, day: int | None) -> Range:
    moment = _clock_of(found, now, day)
    midnight = moment - moment % _DAY
    earlier = found["side"].lower() in ("before", "by", "until", "till")
    return (midnight, moment) if earlier else (moment, midnight + _DAY - 1)


_RANGES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], int, int | None], Range]], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), read)
    for pattern, read in (
        (r"\b(?:later )?tonight\b", _tonight),
        (rf"\b(?:about |around |some )?{_COUNT} (?P<unit>second|minute|hour)s? ago\b", _ago),
        (rf"\b(?:in|within|over|during) the (?:last|past) (?:{_COUNT} )?(?P<unit>minute|hour|day|week)s?\b", _recently),
        (r"\b(?:just now|a moment ago|a (?:short )?while ago)\b", _recently),
        (rf"\b(?P<side>before|after|since|by|until|till) (?:{_CLOCK}|(?P<name>noon|midday|midnight)\b)", _from_or_to),
        (
            rf"\b(?P<how>at|around|about|near) (?:{_CLOCK}|(?P<name>noon|midday|midnight)\b)",
            _at,
        ),
    )
)
