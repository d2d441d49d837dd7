"""Navigation: a beam search from the anchors over the channels of the question's type (AMR-Graph Part II §3).

A neighbour that shares no word with the question can still be reached: part of its score is its parent's, part the
weight of the channel, and only part its own likeness to the question. Edges are walked both ways; one that touches
a node that may not be seen is not walked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from amr.records import Step
from amr.retrieve.constants import Walk
from amr.store.vectors import inside

if TYPE_CHECKING:
    from amr.store.rows import Neighbour, View
    from amr.store.snapshot import Snapshot

Ids = NDArray[np.int64]
Likeness = Callable[[Ids], NDArray[np.float64]]
"""The cosine of each of these nodes with the question."""


@dataclass(frozen=True)
class Reached:
    """A node that the walk came to: its score from 0 to 1, and the steps from the anchor where it began."""

    node_id: int
    score: float
    entry: int
    path: tuple[Step, ...] = ()


@dataclass
class Walked:
    """What a walk reached, anchors included, by node id; the frontier of each hop, best first; why it ended."""

    reached: dict[int, Reached] = field(default_factory=dict)
    hops: list[list[Reached]] = field(default_factory=list)
    ended: str = ""


def navigate(
    snapshot: Snapshot,
    view: View,
    visible: Ids,
    entries: Sequence[tuple[int, float]],
    question_type: str,
    likeness: Likeness,
    constants: Walk,
) -> Walked:
    """Walks from `entries`, (node id, score from 0 to 1), over the channels of a question type.

    Each hop looks up the neighbours of the whole frontier at once. Channels in `view.without` are not walked.
    """
    frontier = [Reached(node_id, score, node_id) for node_id, score in entries]
    walked = Walked({one.node_id: one for one in frontier}, [frontier])
    while not walked.ended:
        hop = len(walked.hops)
        channels = _channels(question_type, hop, view, constants)
        edges = snapshot.neighbours([one.node_id for one in frontier], view) if channels else []
        before, frontier = frontier, _step(walked, frontier, edges, visible, channels, likeness, constants)
        for one in frontier:
            walked.reached[one.node_id] = one
        if frontier:
            walked.hops.append(frontier)
        walked.ended = _end(hop, before, frontier, walked, constants)
    return walked


def _channels(question_type: str, hop: int, view: View, constants: Walk) -> dict[str, float]:
    """The channels to walk at a hop, counted from 1, with their weights, in order of priority."""
    occasional = constants.occasional.get(question_type, frozenset())
    return {
        channel: weight
        for channel, weight in constants.channels[question_type].items()
        if channel not in view.without and (channel not in occasional or hop % constants.every == 0)
    }


def _step(
    walked: Walked,
    frontier: list[Reached],
    edges: Sequence[Neighbour],
    visible: Ids,
    channels: dict[str, float],
    likeness: Likeness,
    constants: Walk,
) -> list[Reached]:
    """The best nodes that one hop newly reaches, each by its best edge; ties by priority of channel, then by id."""
    parents = {one.node_id: one for one in frontier}
    priority = list(channels)
    steps = [
        (edge.channel, src, dst)
        for edge in edges
        if edge.channel in channels
        for src, dst in ((edge.src, edge.dst), (edge.dst, edge.src))
        if src in parents and dst not in walked.reached
    ]
    fresh = np.array(sorted({dst for _, _, dst in steps}), np.int64)
    fresh = fresh[inside(visible, fresh)]
    like = dict(zip(fresh.tolist(), np.clip(likeness(fresh), 0.0, 1.0).tolist(), strict=True)) if len(fresh) else {}
    best: dict[int, tuple[tuple[float, int, int], Reached]] = {}
    for channel, src, dst in steps:
        if dst not in like:
            continue
        parent = parents[src]
        score = constants.decay * (0.5 * parent.score + 0.5 * channels[channel] * (0.3 + 0.7 * like[dst]))
        key = (-round(score, 6), priority.index(channel), src)
        if dst not in best or key < best[dst][0]:
            path = (*parent.path, Step(channel, src, dst))
            best[dst] = (key, Reached(dst, round(score, 6), parent.entry, path))
    ordered = sorted((reached for _, reached in best.values()), key=lambda one: (-one.score, one.node_id))
    return ordered[: min(constants.width, max(0, constants.visited - len(walked.reached)))]


def _end(hop: int, before: list[Reached], frontier: list[Reached], walked: Walked, constants: Walk) -> str:
    """Why the walk ends after this hop; empty when it goes on."""
    if not frontier:
        return "nothing new was reached"
    if len(walked.reached) >= constants.visited:
        return f"{constants.visited} nodes were visited"
    if hop >= constants.hops:
        return f"{constants.hops} hops were taken"
    if abs(_mean(before) - _mean(frontier)) <= constants.converged:
        return "the scores converged"
    return ""


def _mean(frontier: list[Reached]) -> float:
    return sum(one.score for one in frontier) / len(frontier)
