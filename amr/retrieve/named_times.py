"""The times that a question names, "in May 2023" or "two weeks ago", and how near sessions are to them."""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from datetime import datetime, timezone

import numpy as np

from amr.retrieve.scales import Values

_DAY = 86_400_000
_AFTERWARDS, _BEFOREHAND = 14.0, 14.0
"""In so many days what was done is told less by a factor of e; what is planned is told beforehand."""

Span = tuple[int, int]
"""From and until, in ms since the epoch."""

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name} | {
    name.lower(): number for number, name in enumerate(calendar.month_abbr) if name
}
_SEASONS = {"winter": (12, 2), "spring": (3, 5), "summer": (6, 8), "fall": (9, 11), "autumn": (9, 11)}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATE = re.compile(
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+)?({_MONTH})\b\.?"
    r"(?:\s+(\d{1,2})(?:st|nd|rd|th)?(?!\d))?(?:,?\s*((?:19|20)\d\d))?",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")
_SEASON = re.compile(r"\b(winter|spring|summer|fall|autumn)\b(?:\s+of)?(?:\s+((?:19|20)\d\d))?", re.IGNORECASE)
_IN_SEASON = re.compile(r"\b(in|during|last|this|next)\s+(?:the\s+)?$", re.IGNORECASE)
_AGO = re.compile(
    r"\b(\d+|a|an|one|two|three|four|five|six|seven|eight|nine|ten|couple of|few)\s+(day|week|month|year)s?\s+ago\b",
    re.IGNORECASE,
)
_LATELY = re.compile(
    r"\b(yesterday|last\s+(?:week|month|year|weekend|mon|tues|wednes|thurs|fri|satur|sun)\w*|this (?:week|month|year)"
    r"|past (?:\w+ )?(?:week|month|year|day)s?)\b",
    re.IGNORECASE,
)
_COUNTED = "one two three four five six seven eight nine ten"
_NUMBERS = {"a": 1, "an": 1, "couple of": 2, "few": 3}
_NUMBERS |= {word: number for number, word in enumerate(_COUNTED.split(), start=1)}
_UNITS = {"day": (1.0, 1.0), "week": (7.0, 4.0), "month": (30.4, 12.0), "year": (365.0, 90.0)}
"""The days of a unit, and by how many of them people are out when they count in it."""


def named_spans(question: str, years: Sequence[int], now: int | None) -> list[Span]:
    """The spans of time that a question names; `years` are those a date without a year may be in.

    "last week" is told from `now`, the moment of asking in ms since the epoch; without it, it says nothing.
    """
    spans = [*_dates(question, years), *_seasons(question, years)]
    if not spans:
        spans = [(_start(int(year), 1, 1), _start(int(year) + 1, 1, 1)) for year in _YEAR.findall(question)]
    return spans if now is None else [*spans, *_from_now(question, now)]


def years_of(times: Values) -> list[int]:
    """The years in which a chat took place, and the one before; none when no session has a date."""
    known = times[~np.isnan(times)]
    years = {datetime.fromtimestamp(float(at) / 1000, timezone.utc).year for at in known}
    return sorted(years | {min(years) - 1}) if years else []


def nearness(spans: Sequence[Span], times: Values) -> tuple[Values, Values]:
    """How near sessions [g] at these `times` are to the nearest of some spans, from 0 to 1, and which are within one.

    What was done is mostly told within weeks afterwards, what is planned within weeks before.
    """
    near, during = np.zeros(len(times)), np.zeros(len(times))
    for start, end in spans:
        days = max((end - start) / _DAY, 1.0)
        late = np.nan_to_num((times - end) / _DAY, nan=np.inf)
        early = np.nan_to_num((start - times) / _DAY, nan=np.inf)
        within = (early <= 1) & (late < 1)
        after = np.where(late >= 0, np.exp(-np.maximum(late, 0) / max(_AFTERWARDS, 0.3 * days)), 0.0)
        before = np.where(early > 0, 0.6 * np.exp(-np.maximum(early, 0) / _BEFOREHAND), 0.0)
        near = np.maximum(near, np.where(within, 1.0, np.maximum(after, before)))
        during = np.maximum(during, within.astype(float))
    return near, during


def _dates(question: str, years: Sequence[int]) -> list[Span]:
    spans = []
    for found in _DATE.finditer(question):
        name, day, year = found[2], found[1] or found[3], found[4]
        if (name.lower() == "may" and name != "May") or (name.lower() in ("mar", "jan") and not (day or year)):
            continue
        month = _MONTHS[name.lower()]
        for one in [int(year)] if year else years:
            last = calendar.monthrange(one, month)[1]
            exact = day is not None and 1 <= int(day) <= last
            first = _start(one, month, int(day) if exact else 1)
            spans.append((first, first + _DAY if exact else _start(one, month, last) + _DAY))
    return spans


def _seasons(question: str, years: Sequence[int]) -> list[Span]:
    spans = []
    for found in _SEASON.finditer(question):
        first, last = _SEASONS[found[1].lower()]
        # To spring and to fall are also things that people do.
        if found[1].lower() in ("spring", "fall") and not found[2] and not _IN_SEASON.search(question[: found.start()]):
            continue
        for year in [int(found[2])] if found[2] else years:
            spans.append((_start(year, first, 1), _start(year + (last < first), last, 28) + _DAY))
    return spans


def _from_now(question: str, now: int) -> list[Span]:
    spans = []
    for found in _AGO.finditer(question):
        number = int(found[1]) if found[1].isdigit() else _NUMBERS[found[1].lower()]
        days, out = _UNITS[found[2].lower()]
        at = now - round(number * days * _DAY)
        spans.append((at - round(out * _DAY), at + round(out * _DAY)))
    for found in _LATELY.finditer(question):
        words = found[0].lower()
        days = 2 if words == "yesterday" else 45 if "month" in words else 400 if "year" in words else 10
        spans.append((now - days * _DAY, now))
    return spans


def _start(year: int, month: int, day: int) -> int:
    return int(datetime(year, month, day, tzinfo=timezone.utc).timestamp() * 1000)
