"""From a question to evidence: anchor, navigate, verify (AMR-Graph Part II; design §6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from amr.language.names import handle
from amr.models.embedding import embed
from amr.records import Answer, Evidence, Node
from amr.retrieve.anchors import Anchors, Asked, absent_terms, find_anchors, holding, object_handles
from amr.retrieve.calibration import calibration
from amr.retrieve.chat_ranking import best_of_chat, is_chat
from amr.retrieve.constants import ranking, walk
from amr.retrieve.evidence import evidence_of
from amr.retrieve.explain import ChatTrace, Trace
from amr.retrieve.guidance import UNGUIDED, Guidance
from amr.retrieve.likeness import vocabulary
from amr.retrieve.navigate import Walked, navigate
from amr.retrieve.question import Question, Term, about_wearer, read_question
from amr.retrieve.ranking import in_order, read, standing
from amr.retrieve.relevance import Candidate, judge
from amr.retrieve.verify import verify
from amr.retrieve.words import bag_of
from amr.store.vectors import inside

if TYPE_CHECKING:
    from amr.config import Settings
    from amr.store.people import Classes
    from amr.store.rows import View
    from amr.store.snapshot import Snapshot

Ids = NDArray[np.int64]
_NONE = np.zeros(0, np.int64)
_HOUR_MS = 3_600_000


class Search:
    """One question put to one snapshot: what it may see, what it asks, and the candidates found so far.

    `lane` is the question's vector by the embedder that wrote the memory, None for the one in the package.
    `guidance` is what models said of the question.
    """

    trace: Trace | ChatTrace | None = None
    """How the candidates were last found."""

    def __init__(
        self,
        snapshot: Snapshot,
        question: str,
        view: View,
        settings: Settings,
        lane: NDArray[np.float32] | None = None,
        guidance: Guidance = UNGUIDED,
    ) -> None:
        self.guidance = guidance
        self.snapshot = snapshot
        self.view = view
        self.settings = settings
        self.visible = snapshot.visible(view)
        wearer = frozenset(handle(name) for name in snapshot.wearer(view.scope))
        read = about_wearer(read_question(question, wearer.union(snapshot.handles(view.scope, "person"))), wearer)
        self.question: Question = guidance.typed(read)
        self.vector: NDArray[np.float32] = embed([question])[0]
        self._given = lane
        self._lane = self.vector if lane is None else lane

    @cached_property
    def holding(self) -> dict[Term, Ids]:
        """The latest visible nodes that have each word of the question."""
        return holding(self.snapshot, self.question, self.view, self.visible)

    @cached_property
    def absent(self) -> frozenset[Term]:
        """The words of the question that nothing visible has."""
        return absent_terms(self.snapshot, self.question, self.view, self.visible, self.holding)

    def about(self, words: str) -> Search:
        """A search for other words that sees the same."""
        return Search(self.snapshot, words, self.view, self.settings, self._given)

    def mentioning(self, handles: Sequence[str], role: str | None = None) -> Ids:
        """The visible nodes that mention any of the handles, ascending."""
        if not handles:
            return np.zeros(0, np.int64)
        same = self._people.all_of(handles) if role in (None, "person") else handles
        found = self.snapshot.mentioning(self.view.scope, same, role)
        return found[inside(self.visible, found)]

    @cached_property
    def _people(self) -> Classes:
        """Which handles are one person."""
        return self.snapshot.people.classes(self.view)

    def candidates(self, most: int | None = None) -> list[Candidate]:
        """What bears on the question, best first: anchors, what the walk from them reaches, verified (design §6).

        Of a chat the `most` best turns, or sessions, whatever they say.
        """
        if self.chats:
            found = self._talked_of(self.settings.retrieve.judged if most is None else most)
            self.trace = ChatTrace(self.question.question_type, found)
            return found
        if not self.question.terms and not self.vector.any():
            return []
        told = self.mentioning(self._objects(), "state") if "object_lifecycle" not in self.view.without else _NONE
        named = self.mentioning([*self._objects(), *self.question.persons])
        anchors = find_anchors(
            Asked(self.snapshot, self.question, self._lane, self.view, self.visible, self.holding),
            named,
            told,
            self.settings.retrieve,
        )
        walked = self._walk(anchors)
        ordered = in_order(self._judged_of(anchors, walked), ranking().weights)
        groups = verify(ordered, self.settings.verify)
        entries = self.settings.retrieve.anchors
        self.trace = Trace(self.question.question_type, anchors, walked, entries, groups, ordered)
        kept = {id(candidate) for group in groups if not group.dropped for candidate in group.candidates}
        return [candidate for candidate in ordered if id(candidate) in kept and self.guidance.keeps(candidate)]

    @cached_property
    def chats(self) -> bool:
        """Whether what the question may see is a chat: its turns, or its sessions."""
        return is_chat(self.snapshot, self.view)

    def _talked_of(self, most: int) -> list[Candidate]:
        """The turns, or the sessions, of a chat that are worth most, best first; none is dropped.

        What a model judged comes first, the more relevant before the less.
        """
        best = best_of_chat(self.snapshot, self.view, self.question.text, self._given, most)
        nodes = self.snapshot.nodes([one.node_id for one in best])
        found = []
        for one in best:
            candidate = Candidate(nodes[one.node_id], [], fused=one.score, relevance=one.relevance, rank=one.score)
            candidate.merits = dict(one.lanes)
            found.append(candidate)
        return self.guidance.in_order(found)

    def _walk(self, anchors: Anchors) -> Walked:
        """Walks from the best anchors; the first of them scores 1."""
        entries = anchors.fused[: self.settings.retrieve.anchors]
        best = entries[0][1] if entries else 1.0
        scored = [(node_id, round(fused / best, 6)) for node_id, fused in entries]
        kind = self.question.question_type
        return navigate(self.snapshot, self.view, self.visible, scored, kind, self._likeness, walk())

    def _likeness(self, ids: Ids) -> NDArray[np.float64]:
        return self.snapshot.cosines(ids, self._lane)

    def _judged_of(self, anchors: Anchors, walked: Walked) -> list[Candidate]:
        """The most promising of what the lanes and the walk found, judged, with their merits."""
        fused = dict(anchors.fused)
        scores = {node_id: reached.score for node_id, reached in walked.reached.items()}
        ids = np.array(sorted(fused.keys() | scores.keys()), np.int64)
        hours_ago = (self._now() - self.snapshot.moments(ids, self.view)) / _HOUR_MS
        told, constants = anchors.lanes["state"], ranking()
        known = standing(fused, scores, anchors.windows.shares(ids), told, ids, hours_ago, constants.recent_hours)
        merits = known.best(constants.weights, self.settings.retrieve.judged)
        found = self.judged(list(merits), fused)
        for candidate in found:
            node_id = candidate.node.node_id
            candidate.merits = {**merits[node_id], **read(self.question, candidate)}
            if node_id in walked.reached:
                candidate.path = list(walked.reached[node_id].path)
        return found

    def _now(self) -> int:
        """The moment of asking: the as-of, else that of the last visible node."""
        if self.view.as_of is not None or not len(self.visible):
            return self.view.as_of or 0
        return int(self.snapshot.moments(self.visible[-1:], self.view)[0])

    def _objects(self) -> list[str]:
        nouns = [term.word for term in self.question.terms if term.kind == "noun" and not term.bigrams]
        pairs = [f"{first} {second}" for first, second in pairwise(nouns)]
        direct = [handle(name) for name in [*nouns, *pairs]]
        return [*direct, *object_handles(self.snapshot, self.view.scope, self.question.target)]

    def judged(self, ids: Sequence[int], ranks: Mapping[int, float]) -> list[Candidate]:
        """These nodes with their neighbours in time, judged against the question, best first."""
        places = np.searchsorted(self.visible, np.asarray(ids, np.int64))
        reach = calibration().nearby_events
        around = [self.visible[max(0, place - reach) : place + reach + 1].tolist() for place in places.tolist()]
        nodes = self.snapshot.nodes(sorted(set().union(*around)))
        vocabulary.add(set().union(*(bag_of(node).words for node in nodes.values())))
        cosines = self._cosines([nodes[node_id] for node_id in ids])
        found = []
        for node_id, near in zip(ids, around, strict=True):
            node = nodes[node_id]
            beside = [nodes[other] for other in near if other != node_id and _is_near(node, nodes[other])]
            candidate = Candidate(node, beside, cosines.get(node_id, 0.0), ranks.get(node_id, 0.0))
            judge(self.question, candidate, vocabulary.likeness, self.absent)
            self.guidance.judge(candidate)
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


def query(
    snapshot: Snapshot,
    directory: Path,
    question: str,
    view: View,
    settings: Settings,
    k: int,
    lane: NDArray[np.float32] | None = None,
    guidance: Guidance = UNGUIDED,
) -> Answer:
    """The `k` pieces of evidence that bear most on a question, best first, as an answer without words.

    The caller fills in `as_of`, `usage` and `seconds`. `lane` and `guidance` as in Search.
    """
    search = Search(snapshot, question, view, settings, lane, guidance)
    found = search.candidates(k)[:k]
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
        trace=search.trace,
    )


def as_evidence(snapshot: Snapshot, directory: Path, found: Sequence[Candidate]) -> list[Evidence]:
    """Candidates as evidence, in the order given."""
    marks = [(candidate.fused, candidate.relevance) for candidate in found]
    evidence = evidence_of(snapshot, directory, [candidate.node for candidate in found], marks)
    for one, candidate in zip(evidence, found, strict=True):
        one.path = candidate.path
    return evidence
