"""Evidence retrieval over chats: the memory under test and plain search beside it, by the same questions.

Each system ranks the turns, or the sessions, of the question's haystack:

- `amr`: `Memory.query` in the haystack's scope, with `turn` or `session` as kind and no model on the read path;
- `bm25`: tantivy, English stems, k1 1.2, b 0.75, one document per unit;
- `dense`: cosine by the memory's embedder, one vector per unit.

The words of a turn are "Caroline: words [image: caption]", those of a session the lines of its turns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from amr.evals.asking import Asked
from amr.evals.baselines import Baselines, Unit
from amr.evals.questions import EvalQuestion
from amr.evals.run import Run
from amr.retrieve.json_out import evidence_json

if TYPE_CHECKING:
    from amr.media.chats import Haystack, Session

UNITS = ("turn", "session")

Pieces = list[dict[str, Any]]
"""What was retrieved, best first, each with its `ref` and `text` at least."""
Ranker = Callable[[EvalQuestion, str, int], Pieces]
"""From a question, a unit and a number to the best so many."""


def memory_ranker(run: Run) -> Ranker:
    """The memory under test, as of the question's date where it has one.

    Where a question may see what was said after it was asked, "last week" still counts from its date.
    """
    from amr.media.longmemeval import wall_time
    from amr.memory import Filters
    from amr.retrieve.times import iso_time

    def rank(question: EvalQuestion, unit: str, k: int) -> Pieces:
        without = run.options.without
        date = wall_time(question.known.get("question_date"))
        asked_at = None if date is None else iso_time(date)
        filters = Filters(question.scope, as_of=question.asked_at, kinds=(unit,), without=without, asked_at=asked_at)
        found = run.memory.query(question.question, run.plain_settings, filters, k)
        return [evidence_json(piece) for piece in found.evidence]

    return rank


class PlainSearch:
    """BM25 and dense search over the turns and sessions of one haystack at a time: the one last asked of.

    `prefix` goes before the names of the indexes in the run's folder, where a run has several such searches.
    """

    def __init__(self, run: Run, haystacks: Mapping[str, Haystack], prefix: str = "") -> None:
        self._run = run
        self._haystacks = haystacks
        self._prefix = prefix
        self._scope: str | None = None
        self._units: dict[str, Baselines] = {}

    def bm25(self, question: EvalQuestion, unit: str, k: int) -> Pieces:
        """The best `k` units by BM25."""
        searched = self._of(question.scope)[unit]
        return _pieces(searched, searched.bm25(Asked(question.question), k))

    def dense(self, question: EvalQuestion, unit: str, k: int) -> Pieces:
        """The best `k` units by cosine."""
        searched = self._of(question.scope)[unit]
        return _pieces(searched, searched.dense(Asked(question.question), k))

    def prepare(self, scope: str) -> None:
        """Indexes a haystack, unless it is the one last asked of, so that no question's time has that in it."""
        self._of(scope)

    def _of(self, scope: str) -> dict[str, Baselines]:
        if scope != self._scope:
            haystack = self._haystacks[scope]
            self._units = {
                unit: self._run.baselines(units_of(haystack, unit), f"{self._prefix}{unit}") for unit in UNITS
            }
            self._scope = scope
        return self._units


def _pieces(searched: Baselines, places: Sequence[int]) -> Pieces:
    return [{"ref": searched.units[place].ref, "text": searched.units[place].text} for place in places]


def units_of(haystack: Haystack, unit: str) -> list[Unit]:
    """The documents of a haystack: one per turn, or one per session."""
    if unit == "session":
        return [Unit(session_text(one), one.time_ms or 0, one.time_ms or 0, ref=one.ref) for one in haystack.sessions]
    return [
        Unit(turn.line, session.time_ms or 0, session.time_ms or 0, ref=turn.ref)
        for session in haystack.sessions
        for turn in session.turns
    ]


def session_text(session: Session) -> str:
    """A session in words: the lines of its turns."""
    return "\n".join(turn.line for turn in session.turns)
