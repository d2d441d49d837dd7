"""The constants of `configs/retrieve.toml`: the abstention threshold, the scorer's weights, and its word lists."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache

from amr.language.lemmas import lemma
from amr.resources import resource

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Calibration:
    """What was fitted, and the words that questions are made of.

    `nearby_ms` is how far in time the events around one may be to help explain it. `soft` is (cosine that
    counts nothing, cosine that counts fully, what fully is worth).
    """

    threshold: float
    weights: dict[str, float]
    nearby_events: int
    nearby_ms: int
    soft: tuple[float, float, float]
    asking: frozenset[str]
    attributes: frozenset[str]
    loose: frozenset[str]
    synonyms: dict[str, frozenset[str]]


@cache
def calibration() -> Calibration:
    """The shipped constants."""
    data = tomllib.loads(resource("configs/retrieve.toml").read_text(encoding="utf-8"))
    words = data["words"]
    return Calibration(
        threshold=float(data["threshold"]),
        weights={name: float(weight) for name, weight in data["weights"].items()},
        nearby_events=int(data["nearby"]["events"]),
        nearby_ms=round(data["nearby"]["seconds"] * 1000),
        soft=(data["soft"]["none"], data["soft"]["full"], data["soft"]["most"]),
        asking=frozenset(words["asking"].split()),
        attributes=frozenset(words["attributes"].split()),
        loose=frozenset(words["loose"].split()),
        synonyms=_synonyms(words["synonyms"]),
    )


def _synonyms(lines: list[str]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in lines:
        group = frozenset(lemma(word) for word in line.split())
        for word in group:
            found[word] = found.get(word, frozenset()) | group - {word}
    return found
