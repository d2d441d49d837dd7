"""Anchors: the nodes that a question enters the memory by, from three lanes fused by reciprocal rank."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from amr.language.lemmas import singular, verbs
from amr.retrieve.states import state_of

if TYPE_CHECKING:
    from amr.config import RetrieveSettings
    from amr.retrieve.question import Question, Term
    from amr.store.rows import View
    from amr.store.snapshot import Snapshot

Ids = NDArray[np.int64]


def find_anchors(
    snapshot: Snapshot,
    question: Question,
    vector: NDArray[np.float32],
    view: View,
    visible: Ids,
    named: Ids,
    settings: RetrieveSettings,
) -> list[tuple[int, float]]:
    """The nodes to look at as (node id, fused score), best first; ties by id.

    Of the `visible` ones: those that share words with the question as it is asked, and with its meaning words in
    all their forms; those nearest to its embedding `vector` [d]; and, of the `named` ones, which mention a person
    or a thing of the question, those that share most words.
    """
    depth = settings.lane_depth
    meant = " ".join(word for term in question.terms for word in _forms(term))
    lanes = [
        _ids(snapshot.search_text(view.scope, question.text, visible, depth)),
        _ids(snapshot.search_text(view.scope, meant, visible, depth)),
        _ids(snapshot.search_vectors(view.scope, vector, visible, depth)) if vector.any() else [],
        _ids(snapshot.search_text(view.scope, meant, named, depth)),
    ]
    scores: dict[int, float] = {}
    for lane in lanes:
        for rank, node_id in enumerate(lane):
            scores[node_id] = scores.get(node_id, 0.0) + 1 / (settings.rrf_constant + rank + 1)
    fused = [(node_id, round(score, 8)) for node_id, score in scores.items()]
    return sorted(fused, key=lambda row: (-row[1], row[0]))


def _ids(rows: list[tuple[int, float]]) -> list[int]:
    return [node_id for node_id, _ in rows]


def absent_terms(snapshot: Snapshot, question: Question, view: View, visible: Ids) -> frozenset[Term]:
    """The words of a question that no visible node has in any form; a verb may be said by another of its class."""
    return frozenset(
        term
        for term in question.terms
        if not term.bigrams
        and not (term.kind == "verb" and state_of(term.lemma) is not None)
        and not snapshot.search_text(view.scope, " ".join(_forms(term)), visible, 1)
    )


def _forms(term: Term) -> list[str]:
    """The words that the evidence may use for a term: itself, other words for it, and the forms of a verb."""
    if term.kind == "name":
        return [term.word]
    words = [term.word, term.lemma, *sorted(term.pairs), *sorted(term.also)]
    return list(dict.fromkeys([*words, *(_forms_of(term.lemma) if term.kind == "verb" else [])]))


@cache
def _forms_of(base: str) -> list[str]:
    return [form for form, found in verbs().forms.items() if any(base == verb for verb, _ in found)]


def object_handles(snapshot: Snapshot, scope: str, name: str) -> list[str]:
    """The handles under which a thing may be kept: the same last word, and no word that says otherwise.

    "power bank" finds `power_bank` and `white_power_bank`, not `bank`; "white power bank" finds `power_bank` too.
    """
    from amr.language.names import handle
    from amr.retrieve.calibration import calibration

    wanted = handle(name).split("_") if name else []
    if not wanted:
        return []
    must = set(wanted) - calibration().attributes - calibration().loose
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
