"""The systems that LongMemEval is asked of: as for all chats, and each over what the user said alone.

The benchmark's own retrieval searches the user's turns only. So beside `session` and `turn` there are `user_session`
and `user_turn`:

- `bm25` and `dense` search the haystack without the assistant's turns;
- `amr` ranks all turns of the haystack and drops the assistant's; its sessions come in the order of their best turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from amr.evals.questions import EvalQuestion
from amr.evals.retrieval import Pieces, PlainSearch, Ranker, memory_ranker
from amr.evals.run import Run
from amr.media.chats import Haystack
from amr.models.embedders import Embedder

_USER = "user_"
_KEPT_BYTES = 400_000_000


def rankers(run: Run, haystacks: Mapping[str, Haystack]) -> tuple[dict[str, Ranker], Callable[[str], None]]:
    """The three systems by name, and what makes plain search ready for a scope; `haystacks` are by scope."""
    run.embedder = RememberingEmbedder(run.embedder)
    whole = PlainSearch(run, haystacks)
    users = PlainSearch(run, {name: users_side(haystack) for name, haystack in haystacks.items()}, _USER)

    def prepare(scope: str) -> None:
        whole.prepare(scope)
        users.prepare(scope)

    systems = {
        "amr": _users_of(memory_ranker(run), haystacks),
        "bm25": _either(whole.bm25, users.bm25),
        "dense": _either(whole.dense, users.dense),
    }
    return systems, prepare


def users_side(haystack: Haystack) -> Haystack:
    """A haystack with the user's turns only, without the sessions that have none."""
    sessions = [
        replace(session, turns=tuple(turn for turn in session.turns if turn.role == "user"))
        for session in haystack.sessions
    ]
    return replace(haystack, sessions=tuple(session for session in sessions if session.turns))


def _either(whole: Ranker, users: Ranker) -> Ranker:
    def rank(question: EvalQuestion, unit: str, k: int) -> Pieces:
        if unit.startswith(_USER):
            return users(question, unit.removeprefix(_USER), k)
        return whole(question, unit, k)

    return rank


def _users_of(whole: Ranker, haystacks: Mapping[str, Haystack]) -> Ranker:
    def rank(question: EvalQuestion, unit: str, k: int) -> Pieces:
        if not unit.startswith(_USER):
            return whole(question, unit, k)
        haystack = haystacks[question.scope]
        by_turn = {turn.ref: one.ref for one in haystack.sessions for turn in one.turns if turn.role == "user"}
        turns = [piece for piece in whole(question, "turn", _turns_in(haystack)) if piece["ref"] in by_turn]
        if unit == f"{_USER}turn":
            return turns[:k]
        sessions = dict.fromkeys(by_turn[piece["ref"]] for piece in turns)
        return [{"ref": session} for session in sessions][:k]

    return rank


def _turns_in(haystack: Haystack) -> int:
    return sum(len(session.turns) for session in haystack.sessions)


class RememberingEmbedder:
    """An embedder that remembers the vectors of texts, up to some 400 MB: haystacks share sessions."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}
        self._bytes = 0
        self.name = embedder.name
        self.dimensions = embedder.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, float32 of shape (len(texts), dim)."""
        new = list(dict.fromkeys(text for text in texts if text not in self._known))
        fresh = dict(zip(new, self._embedder.embed(new), strict=True)) if new else {}
        found = [fresh[text] if text in fresh else self._known[text] for text in texts]
        for text, vector in fresh.items():
            if self._bytes < _KEPT_BYTES:
                self._known[text] = vector.copy()
                self._bytes += vector.nbytes + 4 * len(text)
        return np.stack(found) if found else self._embedder.embed([])
