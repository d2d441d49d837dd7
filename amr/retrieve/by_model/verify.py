"""How far groups of events bear on a question, by a model in one call (AMR-Graph Part II §4.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from amr.records import Node
from amr.retrieve.by_model.context import event_line, line_tokens

if TYPE_CHECKING:
    from amr.models.asking import RoleModel


class _Score(BaseModel):
    id: int
    relevance: float = Field(ge=0, le=1)


class _Scores(BaseModel):
    scores: list[_Score]


def relevances(model: RoleModel, question: str, groups: Sequence[Sequence[Node]], tokens: int) -> list[float | None]:
    """The relevance of each group from 0 to 1; None for those that did not fit into the budget of tokens.

    The groups come best first, so it is the least promising ones that a model is not shown. Raises CallFailed when
    the model does not judge them.
    """
    shown = _shown(groups, tokens)
    if not shown:
        return [None] * len(groups)
    wanted = [group["id"] for group in shown]

    def check(reply: _Scores) -> list[str]:
        counts = Counter(score.id for score in reply.scores)
        missing = [f"scores: there is none for id {number}" for number in wanted if not counts[number]]
        twice = [f"scores: there are several for id {number}" for number, count in counts.items() if count > 1]
        return missing + twice + [f"scores: no group has the id {number}" for number in counts if number not in wanted]

    reply = model.ask("verify", {"question": question, "groups": shown}, _Scores, check)
    given = {score.id: round(score.relevance, 4) for score in reply.value.scores}
    return [given.get(number) for number in range(1, len(groups) + 1)]


def _shown(groups: Sequence[Sequence[Node]], tokens: int) -> list[dict[str, Any]]:
    """The groups that fit, at least one, each with its events in order of time."""
    shown: list[dict[str, Any]] = []
    left = tokens
    for number, nodes in enumerate(groups, 1):
        events = [_event(node) for node in sorted(nodes, key=lambda node: node.in_time)]
        size = sum(map(line_tokens, events))
        if size > left and shown:
            break
        shown.append({"id": number, "events": events})
        left -= size
    return shown


def _event(node: Node) -> dict[str, Any]:
    line = event_line(node, "")
    return {key: value for key, value in line.items() if key not in ("id", "source")}
