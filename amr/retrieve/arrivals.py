"""When somebody came: the first that is told of them after a long while, where no deed says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amr.records import Node
from amr.retrieve import wording
from amr.retrieve.clauses import Clauses
from amr.retrieve.sequence import Reply
from amr.retrieve.times import show_time

if TYPE_CHECKING:
    from amr.retrieve.query import Search

_COMING = frozenset(("arrive", "show up", "turn up", "come", "come over", "appear", "get here", "join", "come back"))
_AWAY_MS = 60 * 60_000


def arrivals(search: Search, asked: Clauses) -> Reply | None:
    """ "When did Nora show up?": the start of the last time that she was there; None for other questions."""
    acts = [act for act in asked.acts if act.verb in _COMING and act.actor and not act.object]
    if search.question.form != "when" or not acts or len(acts) < len(asked.acts):
        return None
    first = asked.ordinal > 0 or search.view.from_ms is not None  # "today" asks for the first time of the day
    starts = [start for act in acts if (start := _start(search, act.actor, first)) is not None]
    if len(starts) < len(acts):
        return None
    last = max(starts, key=lambda node: node.in_time)
    return Reply(f"{show_time(last)}: {wording.quote(last)}", [last])


def _start(search: Search, person: str, first: bool) -> Node | None:
    """The first event of the last (or the first) time that a person was there, after an hour of absence."""
    ids = [int(node_id) for node_id in search.mentioning([person], "person")]
    nodes = [node for node in search.snapshot.nodes(ids).values() if _is_there(node, person)]
    start: Node | None = None
    last = 0
    for node in sorted(nodes, key=lambda node: node.in_time):
        if start is None or (not first and node.moment_ms - last > _AWAY_MS):
            start = node
        last = node.moment_ms
    return start


def _is_there(node: Node, person: str) -> bool:
    """Whether somebody is seen or speaks; to be spoken of is not to be there."""
    return node.payload.get("modality") != "heard" or node.payload.get("persons", [])[:1] == [person]
