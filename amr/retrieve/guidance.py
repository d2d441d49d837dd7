"""What models said of a question before the memory was searched; nothing where none is configured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amr.retrieve.question import Question
    from amr.retrieve.relevance import Candidate


@dataclass(frozen=True)
class Guidance:
    """The type of a question, and the relevance of the nodes that were judged, by node id.

    Without `verified` the calibrated scorer judges; with it, what no model found relevant is dropped.
    """

    question_type: str | None = None
    verified: bool = False
    relevance: Mapping[int, float] = field(default_factory=dict)

    def typed(self, question: Question) -> Question:
        """The question with the type that a model gave it."""
        return question if self.question_type is None else replace(question, question_type=self.question_type)

    def judge(self, candidate: Candidate) -> None:
        """Puts a model's word in place of the scorer's."""
        candidate.relevance = self.relevance.get(candidate.node.node_id, candidate.relevance)

    def keeps(self, candidate: Candidate) -> bool:
        """Whether a candidate stays one."""
        return not self.verified or self.relevance.get(candidate.node.node_id, 0.0) > 0

    def in_order(self, found: Sequence[Candidate]) -> list[Candidate]:
        """Candidates of a chat by a model's word where there is one; what it did not judge comes after, as it was."""
        if not self.verified:
            return list(found)
        for candidate in found:
            candidate.relevance = self.relevance.get(candidate.node.node_id, 0.0)
        return sorted(found, key=lambda one: (one.node.node_id not in self.relevance, -one.relevance))


UNGUIDED = Guidance()
"""No model was asked."""
