"""Putting questions to systems: the memory under test through its public API, and the baselines beside it.

A reply is the JSON object that `amr ask --json` prints, or as much of it as a baseline can give.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amr.retrieve.json_out import answer_json

if TYPE_CHECKING:
    from amr.config import Settings
    from amr.memory import Memory

Reply = Mapping[str, Any]
KEPT = 10
"""How many pieces of evidence are asked for."""


@dataclass(frozen=True)
class Asked:
    """A question with what it may see: up to `as_of`, as a user writes it and in milliseconds, of one source or all."""

    question: str
    as_of: str | None = None
    as_of_ms: int | None = None
    source: str | None = None


System = Callable[[Asked], Reply]


def memory_system(memory: Memory, settings: Settings, without: tuple[str, ...], scope: str = "default") -> System:
    """The memory under test; `without` are the channels switched off."""
    from amr.memory import Filters

    def answer(asked: Asked) -> Reply:
        filters = Filters(scope=scope, source=asked.source, as_of=asked.as_of, without=without)
        return answer_json(memory.ask(asked.question, settings, filters, KEPT))

    return answer


def brief(reply: Reply) -> dict[str, Any]:
    """What a question's line keeps of a reply."""
    evidence = [
        {name: piece.get(name) for name in ("node_id", "source", "ref", "t_start", "t_end", "time", "text")}
        for piece in reply.get("evidence", [])[:KEPT]
    ]
    return {
        "answer": reply.get("answer", ""),
        "found": bool(reply.get("found")),
        "evidence": evidence,
        "usage": reply.get("usage"),
        "seconds": reply.get("seconds"),
    }
