"""Anchors: the nodes that a question enters the memory by, from three lanes fused by reciprocal rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from amr.perceive.lemmas import singular

if TYPE_CHECKING:
    from amr.config import RetrieveSettings
    from amr.retrieve.question import Question
    from amr.store.rows import View
    from amr.store.snapshot import Snapshot

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Anchors:
    """Candidates best first as (node id, fused score), and the cosine of those that the dense lane looked at."""

    ranked: list[tuple[int, float]]
    cosines: dict[int, float]


def find_anchors(
    snapshot: Snapshot,
    question: Question,
    vector: NDArray[np.float32],
    view: View,
    visible: Ids,
    named: Ids,
    settings: RetrieveSettings,
) -> Anchors:
    """Ranks the `visible` nodes for a question; `vector` [d] is its embedding, `named` the nodes of its entities."""
    depth = settings.lane_depth
    text = [node_id for node_id, _ in snapshot.search_text(view.scope, question.text, visible, depth)]
    dense = snapshot.search_vectors(view.scope, vector, visible, depth) if vector.any() else []
    lanes = [text, [node_id for node_id, _ in dense]]
    if len(named):
        lanes.append([node_id for node_id, _ in snapshot.search_text(view.scope, question.text, named, depth)])
    scores: dict[int, float] = {}
    for lane in lanes:
        for rank, node_id in enumerate(lane):
            scores[node_id] = scores.get(node_id, 0.0) + 1 / (settings.rrf_constant + rank + 1)
    fused = [(node_id, round(score, 8)) for node_id, score in scores.items()]
    ranked = sorted(fused, key=lambda row: (-row[1], row[0]))
    return Anchors(ranked, dict(dense))


def object_handles(snapshot: Snapshot, scope: str, name: str) -> list[str]:
    """The handles under which a thing may be kept: the same last word, and no word that says otherwise.

    "power bank" finds `power_bank` and `white_power_bank`, not `bank`; "white power bank" finds `power_bank` too.
    """
    from amr.perceive.names import handle
    from amr.retrieve.calibration import calibration

    wanted = handle(name).split("_") if name else []
    if not wanted:
        return []
    must = {word for word in wanted if word not in calibration().attributes}
    also = calibration().synonyms.get(wanted[-1], frozenset())
    found = []
    for known in snapshot.handles(scope, "object"):
        words = known.split("_")
        if singular(words[-1]) not in {wanted[-1], *also}:
            continue
        if must - set(words) - {wanted[-1]} or _differ(wanted, words, calibration().attributes):
            continue
        found.append(known)
    return found


def _differ(wanted: list[str], words: list[str], attributes: frozenset[str]) -> bool:
    """Whether both names say what the thing is like, and not the same: a white box is no black box."""
    mine, theirs = set(wanted[:-1]) & attributes, set(words[:-1]) & attributes
    return bool(mine and theirs and not mine & theirs)
