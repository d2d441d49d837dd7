"""From a question to evidence: anchors from three lanes, each judged for how far it bears on the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from amr.language.names import handle
from amr.models.embedding import embed
from amr.records import Answer, Evidence, Node
from amr.retrieve.anchors import absent_terms, find_anchors, object_handles
from amr.retrieve.calibration import calibration
from amr.retrieve.evidence import evidence_of
from amr.retrieve.question import Question, read_question
from amr.retrieve.relevance import Candidate, judge

if TYPE_CHECKING:
    from amr.config import Settings
    from amr.store.rows import View
    from amr.store.snapshot import Snapshot

Ids = NDArray[np.int64]


class Search:
    """One question put to one snapshot: what it may see, what it asks, and the candidates found so far.

    `lane` is the question's vector by the embedder that wrote the memory, None for the one in the package.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        question: str,
        view: View,
        settings: Settings,
        lane: NDArray[np.float32] | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.view = view
        self.settings = settings
        self.visible = snapshot.visible(view)
        self.question: Question = read_question(question, frozenset(snapshot.handles(view.scope, "person")))
        self.vector: NDArray[np.float32] = embed([question])[0]
        self._lane = self.vector if lane is None else lane
        self.absent = absent_terms(snapshot, self.question, view, self.visible)

    def mentioning(self, handles: Sequence[str], role: str | None = None) -> Ids:
        """The visible nodes that mention any of the handles, ascending."""
        if not handles:
            return np.zeros(0, np.int64)
        found = self.snapshot.mentioning(self.view.scope, handles, role)
        return found[np.isin(found, self.visible, assume_unique=True)]

    def candidates(self) -> list[Candidate]:
        """The anchors as judged candidates: most relevant first, then by fused rank, time and id."""
        named = self.mentioning([*self._objects(), *self.question.persons])
        anchors = find_anchors(
            self.snapshot, self.question, self._lane, self.view, self.visible, named, self.settings.retrieve
        )
        return self.judged([node_id for node_id, _ in anchors], dict(anchors))

    def _objects(self) -> list[str]:
        nouns = [term.word for term in self.question.terms if term.kind == "noun" and not term.bigrams]
        pairs = [f"{first} {second}" for first, second in pairwise(nouns)]
        direct = [handle(name) for name in [*nouns, *pairs]]
        return [*direct, *object_handles(self.snapshot, self.view.scope, self.question.target)]

    def judged(self, ids: Sequence[int], ranks: Mapping[int, float]) -> list[Candidate]:
        """These nodes with their neighbours in time, judged against the question, best first."""
        places = np.searchsorted(self.visible, np.asarray(ids, np.int64))
        reach = calibration().nearby_events
        around = {
            int(self.visible[i])
            for place in places
            for i in range(max(0, place - reach), min(len(self.visible), place + reach + 1))
        }
        nodes = self.snapshot.nodes(sorted(around))
        cosines = self._cosines([nodes[node_id] for node_id in ids])
        found = []
        for node_id, place in zip(ids, places, strict=True):
            near = self.visible[max(0, place - reach) : place + reach + 1]
            node = nodes[node_id]
            beside = [nodes[int(i)] for i in near if int(i) != node_id and _is_near(node, nodes[int(i)])]
            candidate = Candidate(node, beside, cosines.get(node_id, 0.0), ranks.get(node_id, 0.0))
            judge(self.question, candidate, likeness, self.absent)
            found.append(candidate)
        return sorted(found, key=_order)

    def _cosines(self, nodes: Sequence[Node]) -> dict[int, float]:
        """The cosine of each node's text with the question; embedding a text again is faster than reading it."""
        if not nodes:
            return {}
        rows = embed([node.text for node in nodes]) @ self.vector
        return {node.node_id: round(float(row), 4) for node, row in zip(nodes, rows, strict=True)}


def _order(candidate: Candidate) -> tuple[float, float, int, int]:
    node = candidate.node
    moment = node.t_start_ms or 0
    return -candidate.relevance, -candidate.fused, moment, node.node_id


def _is_near(node: Node, other: Node) -> bool:
    if node.source_id != other.source_id or node.t_start_ms is None or other.t_start_ms is None:
        return False
    return abs(node.t_start_ms - other.t_start_ms) <= calibration().nearby_ms


def likeness(word: str, words: frozenset[str]) -> float:
    """The cosine between a word and the nearest in meaning of some words."""
    others = [other for other in words if len(other) > 2]
    unknown = [text for text in [word, *others] if text not in _word_vectors]
    _word_vectors.update(zip(unknown, embed(unknown), strict=True))
    if not others:
        return 0.0
    return round(float(np.max(np.stack([_word_vectors[other] for other in others]) @ _word_vectors[word])), 4)


_word_vectors: dict[str, NDArray[np.float32]] = {}
"""Of every word compared by this process; a question compares some hundred words."""


def query(
    snapshot: Snapshot,
    directory: Path,
    question: str,
    view: View,
    settings: Settings,
    k: int,
    lane: NDArray[np.float32] | None = None,
) -> Answer:
    """The `k` pieces of evidence that bear most on a question, best first, as an answer without words.

    The caller fills in `as_of`, `usage` and `seconds`. `lane` as in Search.
    """
    search = Search(snapshot, question, view, settings, lane)
    found = search.candidates()[:k]
    confidence = max((candidate.relevance for candidate in found), default=0.0)
    return Answer(
        question=question,
        answer="",
        found=confidence >= calibration().threshold,
        confidence=confidence,
        question_type=search.question.question_type,
        as_of=None,
        state=None,
        claims=[],
        evidence=as_evidence(snapshot, directory, found),
    )


def as_evidence(snapshot: Snapshot, directory: Path, found: Sequence[Candidate]) -> list[Evidence]:
    """Candidates as evidence, in the order given."""
    marks = [(candidate.fused, candidate.relevance) for candidate in found]
    return evidence_of(snapshot, directory, [candidate.node for candidate in found], marks)
