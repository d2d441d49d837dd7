"""Anchors: the nodes that a question enters the memory by, from six lanes fused by reciprocal rank."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from amr.language.lemmas import forms_of, singular, word_list
from amr.language.states import state_of
from amr.retrieve.constants import ranking
from amr.retrieve.event_scales import Windows, timeline
from amr.store.text import english_stems

if TYPE_CHECKING:
    from amr.config import RetrieveSettings
    from amr.retrieve.question import Question, Term
    from amr.store.rows import View
    from amr.store.snapshot import Snapshot

Ids = NDArray[np.int64]

_WORD = re.compile(r"[a-z]{2,}")
_LATEST = 2_000
"""How far back the events that share a word are looked at together."""


@dataclass(frozen=True)
class Asked:
    """What a question may see and asks for: `vector` [d] is its embedding, `holding` the nodes that hold each word."""

    snapshot: Snapshot
    question: Question
    vector: NDArray[np.float32]
    view: View
    visible: Ids
    holding: Mapping[Term, Ids]


@dataclass
class Anchors:
    """What the lanes found: node ids best first by lane, and all of them fused, best first.

    `windows` are those around each event, by the words of the question.
    """

    lanes: dict[str, list[int]]
    fused: list[tuple[int, float]]
    windows: Windows

    def ranks(self, node_id: int) -> dict[str, int]:
        """The place, from 1, of a node in each lane that found it."""
        return {name: lane.index(node_id) + 1 for name, lane in self.lanes.items() if node_id in lane}


def holding(snapshot: Snapshot, question: Question, view: View, visible: Ids) -> dict[Term, Ids]:
    """The latest visible nodes, ascending, that have each word of the question in any of its forms."""
    words = {term: " ".join(forms(term)) for term in question.terms}
    return {term: snapshot.latest_with(view.scope, words[term], visible, _LATEST) for term in words}


def find_anchors(asked: Asked, named: Ids, told: Ids, settings: RetrieveSettings) -> Anchors:
    """The nodes to look at; ties by id.

    Of the visible ones: those that share words with the question as it is asked, and with its meaning words in
    all their forms; those nearest to its embedding; of the `named` ones, which mention a person or a thing of the
    question, those that share most words; the latest of those that are `told` a state of the thing; and those
    around which most of the question's words were said or done.
    """
    snapshot, scope, visible, depth = asked.snapshot, asked.view.scope, asked.visible, settings.lane_depth
    meant = " ".join(word for term in asked.question.terms for word in forms(term))
    windows = _around(asked)
    dense = snapshot.search_vectors(scope, asked.vector, visible, depth) if asked.vector.any() else []
    lanes = {
        "words": _ids(snapshot.search_text(scope, asked.question.text, visible, depth)),
        "meaning": _ids(snapshot.search_text(scope, meant, visible, depth)),
        "dense": _ids(dense),
        "entity": _ids(snapshot.search_text(scope, meant, named, depth)),
        "state": latest_first(snapshot, told, asked.view)[:depth],
        "moment": windows.best(depth),
    }
    return Anchors(lanes, fuse(lanes, settings.rrf_constant), windows)


def fuse(lanes: Mapping[str, Sequence[int]], constant: int) -> list[tuple[int, float]]:
    """Reciprocal rank fusion (AMR-Graph Part II §2.3) as (node id, score), best first; ties by id."""
    scores: dict[int, float] = {}
    for lane in lanes.values():
        for rank, node_id in enumerate(lane):
            scores[node_id] = scores.get(node_id, 0.0) + 1 / (constant + rank + 1)
    fused = [(node_id, round(score, 8)) for node_id, score in scores.items()]
    return sorted(fused, key=lambda row: (-row[1], row[0]))


def latest_first(snapshot: Snapshot, ids: Ids, view: View) -> list[int]:
    """Nodes by when they happened, the latest first."""
    if not len(ids):
        return []
    order = np.lexsort((ids, snapshot.moments(ids, view)))[::-1]
    return [int(node_id) for node_id in ids[order]]


def _around(asked: Asked) -> Windows:
    """The windows around events, by the words of the question; those that the evidence may lack count for less."""
    snapshot, view, scales = asked.snapshot, asked.view, ranking().windows
    others = [snapshot.latest_with(view.scope, word, asked.visible, _LATEST) for word in other_words(asked.question)]
    line = timeline(snapshot, view, asked.visible, scales)
    counts = [1.0] * len(asked.holding) + [ranking().other_words] * len(others)
    return Windows(line, [*asked.holding.values(), *others], counts)


def other_words(question: Question) -> list[str]:
    """The words of a question that it is asked with rather than about: "show" of "what do I show on my phone"."""
    meant = set(english_stems(" ".join(word for term in question.terms for word in forms(term))))
    plain = word_list("stopwords") | word_list("question_words")
    words = [word for word in dict.fromkeys(_WORD.findall(question.text.lower())) if word not in plain]
    return [word for word in words if meant.isdisjoint(english_stems(word))]


def _ids(rows: list[tuple[int, float]]) -> list[int]:
    return [node_id for node_id, _ in rows]


def absent_terms(
    snapshot: Snapshot, question: Question, view: View, visible: Ids, held: Mapping[Term, Ids]
) -> frozenset[Term]:
    """The words of a question that no visible node has in any form; a verb may be said by another of its class."""
    return frozenset(
        term
        for term in question.terms
        if not term.bigrams
        and not len(held[term])
        and not (term.kind == "verb" and state_of(term.lemma) is not None)
        and not snapshot.search_text(view.scope, " ".join(forms(term)), visible, 1)
    )


def forms(term: Term) -> list[str]:
    """The words that the evidence may use for a term: itself, other words for it, and the forms of a verb."""
    if term.kind == "name":
        return [term.word]
    words = [term.word, term.lemma, *sorted(term.pairs), *(name.replace("_", " ") for name in sorted(term.also))]
    return list(dict.fromkeys([*words, *(forms_of(term.lemma) if term.kind == "verb" else [])]))


def object_handles(snapshot: Snapshot, scope: str, name: str) -> list[str]:
    """The handles under which a thing may be kept: the same last word, and no word that says otherwise.

    "power bank" finds `power_bank` and `white_power_bank`, not `bank`; "white power bank" finds `power_bank` too.
    """
    from amr.language.names import handle
    from amr.retrieve.naming import names_of, same_thing

    wanted = tuple(handle(name).split("_")) if name else ()
    if not wanted:
        return []
    last = {words[-1] for words, _ in names_of(wanted)}
    known = (one for one in snapshot.handles(scope, "object") if singular(one.rpartition("_")[2]) in last)
    return [one for one in known if same_thing(wanted, tuple(one.split("_")))]
