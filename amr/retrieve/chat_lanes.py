"""What speaks for a turn or a session of a chat, told in a few lanes for a person to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from amr.retrieve.chat_features import Features

_MEASURED = frozenset(["exact", "alike", "covers", "means", "plain", "whole", "content"])
_DIRECTIONS = frozenset(["whole", "content"])
_AROUND = frozenset(["three", "five", "from", "tapered", "before", "after"])


def turn_lane(feature: str) -> str:
    """The lane of a feature of a turn.

    `words` and `direction` are the turn's own, `around` those of the windows around it, `session` those of its session;
    `speaker` and `time` are who speaks and when, `manner` is how it is said.
    """
    first, *rest = feature.split()
    if "session" in rest:
        return "session"
    if first in ("near", "during"):
        return "time"
    if first == "speaker" or "speaker" in rest:
        return "speaker"
    if first not in _MEASURED:
        return "manner"
    if _AROUND.intersection(rest):
        return "around"
    return "direction" if first in _DIRECTIONS else "words"


def session_lane(feature: str) -> str:
    """The lane of a feature of a session: its `words`, its `direction`, its best `turns`, or its `time`."""
    first, *rest = feature.split()
    if "peak" in rest or feature in ("best turn", "likely turns"):
        return "turns"
    if first in ("near", "during"):
        return "time"
    return "direction" if first in _DIRECTIONS else "words"


def lanes(found: Features, by: Mapping[str, float], lane_of: Callable[[str], str]) -> Features:
    """What the features [n] of each lane are worth together, beside their mean."""
    told: Features = {}
    for name in filter(by.__contains__, found):
        lane, worth = lane_of(name), found[name] * by[name]
        told[lane] = told[lane] + worth if lane in told else worth
    return {lane: np.round(told[lane] - told[lane].mean(), 2) for lane in sorted(told)}
