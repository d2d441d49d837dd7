"""The order of evidence: what bears on the question most, first, without saying one thing ten times.

Relevance says how far a piece of evidence is to be believed; of many that say much the same, the one asked for is the
one that more lanes found, whose moment holds more of the question, that happened lately, or that tells the last state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from amr.retrieve.words import words_of

if TYPE_CHECKING:
    from amr.records import Node
    from amr.retrieve.question import Question
    from amr.retrieve.relevance import Candidate

_MOMENT_MS = 30_000
_LATER = 0.25
"""Each later state of the thing asked for makes one count as if it were so much farther back."""
_REPORTED = frozenset(("said", "who", "read"))

Ids = NDArray[np.int64]
Merits = dict[str, float]
"""What was found out about a node, each from 0 to 1, by the name that `configs/channels.toml` weighs it under."""


@dataclass(frozen=True)
class Standing:
    """The merits of nodes that can be told without reading them: node ids [n], and of each merit the values [n]."""

    ids: Ids
    merits: dict[str, NDArray[np.float64]]

    def best(self, weights: Mapping[str, float], most: int) -> dict[int, Merits]:
        """The merits of the most promising, best first; ties by id."""
        total = np.round(sum((weights[name] * values for name, values in self.merits.items()), np.zeros(1)), 6)
        order = np.lexsort((self.ids, -total))[:most]
        columns = {name: values[order].tolist() for name, values in self.merits.items()}
        return {
            node_id: {name: values[place] for name, values in columns.items()}
            for place, node_id in enumerate(self.ids[order].tolist())
        }


def standing(
    fused: Mapping[int, float],
    walked: Mapping[int, float],
    windows: Mapping[str, NDArray[np.float64]],
    told: Sequence[int],
    ids: Ids,
    hours_ago: NDArray[np.float64],
    recent_hours: float,
) -> Standing:
    """What can be told of the nodes `ids` [n], which happened `hours_ago` [n] before the question is asked.

    `windows` are by scale what the window around each is worth [n], `told` those that tell a state of the thing asked
    for, latest first.
    """
    later = {node_id: 1 / (1 + _LATER * place) for place, node_id in enumerate(told)}
    known = {"fused": fused, "walked": walked, "state": later}
    merits = {name: np.array([values.get(node_id, 0.0) for node_id in ids.tolist()]) for name, values in known.items()}
    shares = {name: _of_best(values) for name, values in (("fused", merits["fused"]), *windows.items())}
    return Standing(ids, {**merits, **shares, "recent": 1 / (1 + np.maximum(hours_ago, 0) / recent_hours)})


def _of_best(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values / (values.max(initial=0.0) or 1.0)


def read(question: Question, candidate: Candidate) -> Merits:
    """The merits that take reading a node."""
    asks = question.form not in _REPORTED and is_question(candidate.node)
    return {"relevance": candidate.relevance, "question": float(asks)}


def worth(merits: Merits, weights: Mapping[str, float]) -> float:
    """The sum of the merits, each by its weight."""
    return round(sum(weights[name] * value for name, value in merits.items()), 6)


def in_order(found: Sequence[Candidate], weights: Mapping[str, float]) -> list[Candidate]:
    """The candidates by what their merits are worth, less for each one before that says the same or is beside it."""
    said, moments = Counter[frozenset[str]](), Counter[int]()
    for candidate in sorted(found, key=lambda one: (-worth(one.merits, weights), *one.node.in_time)):
        words, at = words_of(candidate.node), candidate.node.moment_ms // _MOMENT_MS
        repeated = weights["again"] * said[words] + weights["beside"] * moments[at]
        said[words] += 1
        moments[at] += 1
        candidate.rank = round(worth(candidate.merits, weights) + repeated, 6)
    return sorted(found, key=lambda one: (-one.rank, *one.node.in_time))


def is_question(node: Node) -> bool:
    """Whether somebody asks: a question about a thing is no evidence of where it is."""
    return node.text.rstrip("\"'” ").endswith("?")
