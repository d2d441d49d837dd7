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
    """What each thing found out about a piece of evidence is worth, and the scales of time behind two of them."""

    weights: dict[str, float]
    spread_seconds: float
    spread_beside: float
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
    spread = data["spread"]
    return Ranking(data["ranking"], spread["seconds"], spread["beside"], spread["recent_hours"])


def _data() -> dict[str, Any]:
    return tomllib.loads(resource("configs/channels.toml").read_text(encoding="utf-8"))
