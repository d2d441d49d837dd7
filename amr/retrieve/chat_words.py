"""What takes reading a turn: whether it asks, tells a time or a number, names things, and how much it says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from amr.retrieve.chat_features import Features

# Met with lower case.
_TIME = re.compile(
    r"\b(yesterday|today|tonight|tomorrow"
    r"|last (?:night|week|weekend|month|year|summer|winter|spring|fall|mon|tues|wednes|thurs|fri|satur|sun)\w*"
    r"|next (?:week|month|year|summer|weekend|\w+day)|this (?:week|weekend|month|year|morning|summer|past)\w*"
    r"|\w+ (?:days?|weeks?|months?|years?|weekends?) (?:ago|before)|ago|recently|just"
    r"|january|february|march|april|june|july|august|september|october|november|december"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|\d{4}|\d+(?:st|nd|rd|th)"
    r"|since|for (?:\w+ )?(?:years|months|weeks)|birthday|anniversary|the other day|few (?:days|weeks|months|years))\b"
)
_NUMBER = re.compile(
    r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|twice|once|dozen|several|couple|few)\b"
)
_NAME = re.compile(r" (?<=[a-z,;] )[A-Z][a-z]+")
_QUOTE = re.compile(r'"[A-Z]')
_WHEN = re.compile(r"\b(when|what (?:date|day|month|year|time)|how long|which (?:month|year|day))\b", re.IGNORECASE)
_HOW_MANY = re.compile(r"\bhow (?:many|much|often|old|long)\b", re.IGNORECASE)
_PICTURE = re.compile(r"\b(photo|picture|image|painting|pictured|shared?|show|look|poster|sign)\w*\b", re.IGNORECASE)
_WHICH = re.compile(r"\s*(what|which|where|who)", re.IGNORECASE)


@dataclass(frozen=True)
class Said:
    """A turn as it was said: its words, without who says them, and whether a picture goes with it.

    `before` are the words of the turn before it in the session, empty at the first. Where in its session a turn stands
    is no feature: sessions that a benchmark has cut down to what answers a question would be told by it.
    """

    words: str
    picture: bool
    before: str


def read_turns(question: str, turns: Sequence[Said], wide: Features, mean_length: float) -> Features:
    """What reading some turns tells; `wide` are features of the same turns that need no reading."""
    names = ("asks", "mentions a question", "times", "numbers", "names", "quotes", "picture")
    rows = np.array([_read(turn) for turn in turns]).reshape(len(turns), len(names))
    found = dict(zip(names, rows.T, strict=True))
    found["length"] = np.log(np.array([len(turn.words) for turn in turns]) / max(mean_length, 1.0) + 0.1)
    found["answers"] = np.array([float(_asks(turn.before)) for turn in turns])
    for name in ("exact turn before", "alike turn before", "content turn before"):
        found[f"answers {name}"] = found["answers"] * wide[name]
    found["answers speaker"] = found["answers alike turn before"] * wide["speaker"]
    which = float(bool(_WHICH.match(question)))
    found["times when"] = found["times"] * bool(_WHEN.search(question))
    found["numbers how many"] = found["numbers"] * bool(_HOW_MANY.search(question))
    found["names which"], found["quotes which"] = found["names"] * which, found["quotes"] * which
    found["picture asked"] = found["picture"] * bool(_PICTURE.search(question))
    found["near times"] = wide["near"] * found["times"]
    return found


@lru_cache(maxsize=20_000)
def _read(turn: Said) -> tuple[float, ...]:
    words = turn.words
    low = words.lower()  # a pattern for either case takes three times as long
    times = {words[one.start() : one.end()] for one in _TIME.finditer(low)}
    return (
        float(_asks(words)),
        float("?" in words[-60:]),
        float(min(len(times), 2)),
        float(min(len(_NUMBER.findall(low)), 2)),
        float(min(len(_NAME.findall(words)), 3)),
        float(bool(_QUOTE.search(words))),
        float(turn.picture),
    )


def _asks(words: str) -> bool:
    return words.rstrip().endswith("?")
