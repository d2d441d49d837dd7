"""The constants of `configs/channels.toml`: what a type of question walks, and how evidence is put in order."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

from amr.resources import resource

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class Walk:
    """How far a walk goes (AMR-Graph Part II §3.2), and the channels of each question type by priority.

    `channels` is question type → channel → weight; an `occasional` channel is walked at every `every`-th hop.
    """

    width: int
    hops: int
    visited: int
    decay: float
    converged: float
    every: int
    channels: dict[str, dict[str, float]]
    occasional: dict[str, frozenset[str]]


@dataclass(frozen=True)
class Ranking:
    """What each thing found out about a piece of evidence is worth.

    `windows` are the scales by name with how long their windows last in seconds, `other_words` what a word counts for
    in them that the evidence may lack; what was `recent_hours` ago is half as recent.
    """

    weights: dict[str, float]
    windows: tuple[tuple[str, float], ...]
    other_words: float
    recent_hours: float


@cache
def walk() -> Walk:
    """The shipped constants of navigation; the script that learns them tries others in their place."""
    data = _data()
    return Walk(
        **data["walk"],
        channels=data["channels"],
        occasional={name: frozenset(channels) for name, channels in data["occasional"].items()},
    )


@cache
def ranking() -> Ranking:
    """The shipped constants of the order of evidence."""
    data = _data()
    return Ranking(data["ranking"], tuple(data["windows"].items()), data["words"]["others"], data["recent"]["hours"])


def _data() -> dict[str, Any]:
    return tomllib.loads(resource("configs/channels.toml").read_text(encoding="utf-8"))
