"""Questions to a stream of lines that have no answer there, and questions whose answer a line gives.

Without an answer: a thing, person, place or act of `configs/eval_words.toml` put into a template of that file.
*Never*: no line has the word, in any form (compared by English stem; of a compound the last word counts, and it is
looked for written as one word too); asked at the end of a line drawn at random. *Later*: the first line with the
word comes at least six hours after the first line of all; asked an hour before that line. An act is asked for with
a thing that the lines do mention.

With an answer: lines such as "I put the cup on the table." give "When did I put the cup?" and, where the verb is
putting and a place follows, "Where did I put the cup?"; asked two minutes after the line ended.

Words, templates and lines are drawn by a generator with a fixed seed, so the same data gives the same questions.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from amr.evals.baselines import Unit
from amr.resources import resource
from amr.store.text import english_stems

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_HOUR_MS = 3_600_000
_SETTLED_MS = 6 * _HOUR_MS
_AFTER_MS = 120_000
_PLACED = ("put", "placed")
_POOLS = (("thing", "things"), ("person", "persons"), ("place", "places"), ("act", "acts"))


@dataclass(frozen=True)
class Made:
    """A generated question, asked as of a moment on the lines' clock. Kind: never, later, or answerable."""

    question: str
    as_of_ms: int
    kind: str


def unanswerable(units: Sequence[Unit], never: int, later: int, seed: int = 5) -> list[Made]:
    """Up to so many questions about what the lines never mention, and about what they mention only later."""
    rng = random.Random(seed)
    first = _first_mentions(units)
    made: dict[str, Made] = {}
    for kind, word in _words(rng):
        seen = _first(first, word)
        if seen is None:
            moment, sort = rng.choice(units).end_ms, "never"
        elif seen - units[0].start_ms >= _SETTLED_MS and kind != "act":
            moment, sort = seen - _HOUR_MS, "later"
        else:
            continue
        question = _ask(kind, word, first, moment, rng)
        made.setdefault(question, Made(question, moment, sort))
    found = list(made.values())
    return [
        *[one for one in found if one.kind == "never"][:never],
        *[one for one in found if one.kind == "later"][:later],
    ]


def answerable(units: Sequence[Unit], number: int, seed: int = 5) -> list[Made]:
    """Up to so many questions that a line answers, each about another thing or deed."""
    rng = random.Random(seed)
    order = list(units)
    rng.shuffle(order)
    made: dict[str, Made] = {}
    for unit in order:
        if len(made) == number:
            break
        for question in _asked_of(unit, rng):
            made.setdefault(question, Made(question, unit.end_ms + _AFTER_MS, "answerable"))
    return list(made.values())[:number]


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(resource("configs/eval_words.toml").read_text(encoding="utf-8"))


def _words(rng: random.Random) -> Iterator[tuple[str, str]]:
    """Every word with its kind, three times over, in random order; each time it may get another template."""
    pool = [(kind, word.replace("-", " ")) for kind, name in _POOLS for word in _table()[name].split()]
    for _ in range(3):
        rng.shuffle(pool)
        yield from pool


def _ask(kind: str, word: str, first: dict[str, int], moment: int, rng: random.Random) -> str:
    mentioned = [thing for thing in _table()["things"].split() if first.get(_stem(thing), moment) < moment]
    thing = rng.choice(mentioned or ["table"])
    return str(rng.choice(_table()["templates"][kind])).format(x=word, thing=thing)


def _first_mentions(units: Sequence[Unit]) -> dict[str, int]:
    """When each stem is first mentioned."""
    first: dict[str, int] = {}
    for unit in units:
        for stem in english_stems(unit.text):
            first.setdefault(stem, unit.start_ms)
    return first


def _first(first: dict[str, int], word: str) -> int | None:
    moments = [first.get(_stem(word)), first.get(_stem(word.replace(" ", "")))]
    return min((moment for moment in moments if moment is not None), default=None)


def _stem(word: str) -> str:
    return english_stems(word)[-1]


@cache
def _pattern() -> re.Pattern[str]:
    verbs = "|".join(map(re.escape, sorted(_table()["done"], key=len, reverse=True)))
    place = r"(?P<place> (?:back )?(?:on|in|into|onto|inside|under|behind|next to) .+)?"
    return re.compile(rf"I (?P<verb>{verbs}) (?:the|my|a|an) (?P<thing>[a-z]+(?: [a-z]+)??){place}\.?")


@cache
def _vague() -> frozenset[str]:
    return frozenset(_table()["vague"].split())


def _asked_of(unit: Unit, rng: random.Random) -> list[str]:
    found = _pattern().fullmatch(unit.text)
    if found is None or set(found["thing"].split()) & _vague():
        return []
    if found["verb"] in _PLACED and found["place"] and rng.random() < 0.5:
        return [f"Where did I put the {found['thing']}?"]
    return [f"When did I {_table()['done'][found['verb']]} the {found['thing']}?"]
