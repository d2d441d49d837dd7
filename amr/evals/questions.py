"""The questions of a benchmark as the harness asks them: with the refs of their evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class EvalQuestion:
    """One question to one scope.

    `gold` has, for each unit ("turn", "session"), the refs of the evidence. `asked_at` is the question's date, as
    `--as-of` takes it. `known` is what else its line keeps. `groups` are the parts of the benchmark it is reported
    under, beside the whole. `left_out` says why retrieval is not scored, such as evidence that points nowhere.
    """

    id: str
    question: str
    category: str
    scope: str
    gold: Mapping[str, tuple[str, ...]]
    answer: str = ""
    asked_at: str | None = None
    known: Mapping[str, Any] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    left_out: str = ""

    def line(self) -> dict[str, Any]:
        """What its line in the run's folder starts with."""
        return {
            "id": self.id,
            "category": self.category,
            "question": self.question,
            "scope": self.scope,
            "as_of": self.asked_at,
            "gold": {**{unit: list(refs) for unit, refs in self.gold.items()}, "answer": self.answer},
            "groups": list(self.groups),
            **({"left_out": self.left_out} if self.left_out else {}),
            **self.known,
        }


@dataclass
class QuestionSet:
    """All questions of a file, and a sentence for each thing in it that could not be used as it is."""

    questions: list[EvalQuestion] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def first(self, limit: int | None, by: Callable[[EvalQuestion], str] = lambda one: one.scope) -> list[EvalQuestion]:
        """The first questions of every scope, or of what `by` gives, as many as `--limit` allows."""
        seen: dict[str, int] = {}
        kept = []
        for one in self.questions:
            part = by(one)
            seen[part] = seen.get(part, 0) + 1
            if limit is None or seen[part] <= limit:
                kept.append(one)
        return kept


def listed(problems: Sequence[str]) -> list[str]:
    """The notes of a report on what could not be used as it is in the data: how many things, then each of them."""
    if not problems:
        return []
    return [f"In the data there are {len(problems)} things that could not be used as they are:", *problems]
