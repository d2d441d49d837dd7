"""A question answered with models: typed, searched for, verified and answered, with the memory closed in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from amr.errors import ProviderError
from amr.models.asking import role_model
from amr.models.budget import Budget
from amr.models.calls import Calls
from amr.models.chat import CallFailed
from amr.models.embedding import EMBEDDER_NAME
from amr.models.open import Models
from amr.records import Answer, Evidence, Usage
from amr.retrieve.by_model.answer import answer_by_model
from amr.retrieve.by_model.typing import type_question
from amr.retrieve.by_model.verify import relevances
from amr.retrieve.explain import Trace
from amr.retrieve.guidance import Guidance
from amr.retrieve.query import Search, query
from amr.store import asked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from amr.config import Settings
    from amr.retrieve.relevance import Candidate
    from amr.store.rows import View
    from amr.store.snapshot import Snapshot

_CANDIDATES = 200
_LEAST = 0.1
"""Evidence less relevant than this, by the calibrated scorer, is not worth a model's reading."""
_TURNS = 40
"""So many turns of a chat, the best without a model, are judged one by one."""
_KEPT = 0.5
"""A group that a model finds less relevant than this is dropped."""

T = TypeVar("T")


class Read(Protocol):
    """How the memory is opened for a moment."""

    def __call__(self, work: Callable[[Snapshot, View], T]) -> T:
        """What the work finds there, and in what the question may see of it."""


@dataclass
class Reader:
    """One question put to a memory with the models of the settings; `command` is what the ledger calls it.

    Raises ProviderError where a model cannot be called at all, or the one that answers gives no answer. Where only
    the call for the type or the verification fails, the rules take its place, and `warnings` says so.
    """

    directory: Path
    question: str
    settings: Settings
    command: str
    max_cost: float | None = None
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        calls = Calls(self.directory / "calls", self.command)
        self._models = Models(self.settings, calls, Budget(self.max_cost))

    def answer(
        self, retrieve: Callable[..., Answer], read: Read, written_by: str, k: int, as_of: str | None, answers: bool
    ) -> Answer:
        """What `retrieve` finds, guided by models; with `answers`, in the words of the model that answers.

        `written_by` is the embedder of the memory. No model is called while the memory is open.
        """
        try:
            lane = self._lane(written_by)
            guidance = Guidance(self._type())
            if self.settings.model_of("verify"):

                def grouped(snapshot: Snapshot, view: View) -> list[list[Candidate]]:
                    return _groups(Search(snapshot, self.question, view, self.settings, lane, guidance))

                guidance = self._verified(guidance, read(grouped))

            def put(to: Callable[..., Answer], most: int) -> Answer:
                return read(
                    lambda snapshot, view: to(
                        snapshot, self.directory, self.question, view, self.settings, most, lane, guidance
                    )
                )

            found = put(retrieve, max(k, _CANDIDATES) if answers else k)
            found.as_of = as_of
            if answers:
                looked_at = [piece for piece in put(query, _CANDIDATES).evidence if piece.relevance >= _LEAST]
                worth = {piece.node.node_id: piece for piece in [*found.evidence, *looked_at]}
                found = self._answered(found, list(worth.values()), k)
        finally:
            asked.note(self.directory, self._models.calls.take_rows())
        return replace(found, usage=self._usage(), warnings=[*self.warnings, *found.warnings])

    def _lane(self, written_by: str) -> NDArray[np.float32] | None:
        """The question's vector by the embedder that wrote the memory; None for the one in the package."""
        if written_by == EMBEDDER_NAME:
            return None
        name, _, dimensions = written_by.rpartition("@")
        row: NDArray[np.float32] = self._models.embedder_named(name, int(dimensions)).embed([self.question])[0]
        return row

    def _type(self) -> str | None:
        if not self.settings.model_of("type"):
            return None
        try:
            return type_question(role_model(self._models, "type"), self.question)
        except CallFailed as error:
            self.warnings.append(f"The question was typed by rules, because the model could not: {error}")
            return None

    def _verified(self, guidance: Guidance, groups: Sequence[Sequence[Candidate]]) -> Guidance:
        """With the relevance of every node: that of its group, less for its lesser members; 0 if it is dropped."""
        if not groups:
            return guidance
        nodes = [[candidate.node for candidate in group] for group in groups]
        tokens = self.settings.retrieve.context_tokens
        try:
            scores = relevances(role_model(self._models, "verify"), self.question, nodes, tokens)
        except CallFailed as error:
            self.warnings.append(f"The evidence was verified by the scorer, because the model could not: {error}")
            return guidance
        relevance: dict[int, float] = {}
        for group, score in zip(groups, scores, strict=True):
            most = max(candidate.relevance for candidate in group) or 1.0
            kept = score if score is not None and score >= _KEPT else 0.0
            for candidate in group:
                share = candidate.relevance / most
                relevance[candidate.node.node_id] = round(kept * (0.5 + 0.5 * share), 4)
        return replace(guidance, verified=True, relevance=relevance)

    def _answered(self, found: Answer, worth: Sequence[Evidence], k: int) -> Answer:
        model, tokens = role_model(self._models, "answer"), self.settings.retrieve.context_tokens
        try:
            return answer_by_model(model, found, worth, tokens, k)
        except CallFailed as error:
            raise ProviderError(
                f"{str(error).rstrip('.')}; ask again, or leave roles.answer out of the config to be answered by rules."
            ) from error

    def _usage(self) -> Usage:
        sent = self._models.calls.sent
        return Usage(
            len(sent),
            sum(row.prompt_tokens for row in sent),
            sum(row.completion_tokens for row in sent),
            round(sum(row.cost_usd or 0.0 for row in sent), 9),
        )


def _groups(search: Search) -> list[list[Candidate]]:
    """What a model is to judge: groups of events, or the best turns of a chat. A session has no words of its own."""
    found = search.candidates(_TURNS)
    if isinstance(search.trace, Trace):
        return [group.candidates for group in search.trace.groups]
    return [[candidate] for candidate in found if candidate.node.kind == "turn"]
