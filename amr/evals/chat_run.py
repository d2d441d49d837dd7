"""Asking the questions of a benchmark of chats: retrieval by every system, then the answer of a model, if there is one.

Retrieval runs one question after the other, so that its times mean something; models answer beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amr.errors import ProviderError
from amr.evals.folder import key_of
from amr.evals.questions import EvalQuestion
from amr.evals.recall import DEPTH, recall_hits
from amr.evals.retrieval import UNITS, Pieces, Ranker
from amr.evals.run import Run
from amr.evals.tally import Hit

if TYPE_CHECKING:
    from amr.evals.answering import Answering
    from amr.evals.reading import Shown
    from amr.media.chats import Haystack

Score = Callable[[EvalQuestion, str, Sequence[str]], Mapping[str, Hit]]
"""From a question, a unit and the refs retrieved, best first, to its metrics."""


def score_recall(question: EvalQuestion, unit: str, retrieved: Sequence[str]) -> Mapping[str, Hit]:
    """The metrics of `recall`; none for a question that is left out or has no evidence of the unit."""
    gold = question.gold.get(unit)
    return recall_hits(unit, retrieved, gold) if gold and not question.left_out else {}


def model_notes(run: Run) -> list[str]:
    """What a report says of the models that were called."""
    if run.model:
        return [f"Answers are those of {run.model}; retrieval is measured without a model."]
    return ["Only retrieval is measured: no model was to answer (--model names one)."]


@dataclass
class _Prepared:
    """A question with what every system retrieved, and what a model is to be shown."""

    question: EvalQuestion
    systems: dict[str, dict[str, Any]]
    shown: list[Shown]


@dataclass
class ChatRun:
    """How the questions of one benchmark are asked, by a model too where the run has one.

    `haystacks` are by scope. `prepare` gets each question's scope before anything is timed.
    """

    run: Run
    haystacks: Mapping[str, Haystack]
    systems: Mapping[str, Ranker]
    units: Sequence[str] = UNITS
    score: Score = score_recall
    prepare: Callable[[str], None] = lambda scope: None

    def ask(self, questions: Sequence[EvalQuestion]) -> None:
        """Asks every question that has no line yet. They should come haystack by haystack."""
        wanted = self.run.wanted([(one.line(), one) for one in questions])
        prepared = self.run.told((self._prepared(one) for one in wanted), len(wanted))
        answering = self.run.answering
        if answering is None:
            for one in prepared:
                self.run.folder.add(_line(one))
            return
        from amr.evals.in_threads import in_threads

        in_threads(
            prepared,
            lambda one: self._read(answering, one),
            self.run.settings.jobs,
            self.run.folder.add,
            answering.close,
        )

    def _prepared(self, question: EvalQuestion) -> _Prepared:
        if self.run.options.oracle:
            return _Prepared(question, {"amr": {}}, _gold_shown(question, self.haystacks[question.scope]))
        self.prepare(question.scope)
        found = {name: self._retrieved(question, system) for name, system in self.systems.items()}
        systems = {name: entry for name, (entry, _) in found.items()}
        return _Prepared(question, systems, [] if self.run.answering is None else _shown(found["amr"][1]))

    def _retrieved(self, question: EvalQuestion, system: Ranker) -> tuple[dict[str, Any], Pieces]:
        """What a line has of a system's retrieval, and the turns themselves."""
        refs: dict[str, list[str]] = {}
        seconds: dict[str, float] = {}
        recall: dict[str, Hit] = {}
        turns: Pieces = []
        for unit in self.units:
            started = time.monotonic()
            pieces = system(question, unit, DEPTH)
            seconds[unit] = round(time.monotonic() - started, 6)
            refs[unit] = [str(piece["ref"]) for piece in pieces]
            recall.update(self.score(question, unit, refs[unit]))
            if unit == "turn":
                turns = pieces
        return {"retrieved": refs, "seconds": seconds, "recall": recall}, turns

    def _read(self, answering: Answering, prepared: _Prepared) -> tuple[dict[str, Any], ProviderError | None]:
        """The whole line of a question, and the error where the provider is at fault."""
        start = prepared.question.line()
        before = self.run.folder.lines.get(key_of(start), {}).get("systems", {}).get("amr")
        outcome = answering.ask(prepared.question, prepared.shown, before)
        entry = prepared.systems["amr"]
        seconds = {**entry.get("seconds", {}), "answer": outcome.line.get("seconds")}
        told = {"failed": None, **outcome.line}
        systems = {**prepared.systems, "amr": {**entry, **told, "seconds": seconds}}
        return {**start, "systems": systems}, outcome.provider_error


def _line(prepared: _Prepared) -> dict[str, Any]:
    return {**prepared.question.line(), "systems": prepared.systems}


def _shown(pieces: Pieces) -> list[Shown]:
    from amr.evals.reading import shown_of

    return shown_of(pieces)


def _gold_shown(question: EvalQuestion, haystack: Haystack) -> list[Shown]:
    """The evidence itself: its turns, or all turns of its sessions where only those are known."""
    from amr.evals.reading import Shown

    turns, sessions = question.gold.get("turn") or (), question.gold.get("session") or ()
    shown: Iterator[Shown] = (
        Shown(turn.ref, session.time_ms, number, turn.line)
        for session in haystack.sessions
        for number, turn in enumerate(session.turns)
        if turn.ref in turns or (not turns and session.ref in sessions)
    )
    return list(shown)
