"""The states of an object over time, as the events that told them left it (design §5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amr.channels.object_lifecycle import NAME
from amr.records import Node

if TYPE_CHECKING:
    from amr.store.rows import View
    from amr.store.snapshot import Snapshot

LATEST = 50


@dataclass(frozen=True)
class StateAt:
    """What an event left an object in; what is not known is empty.

    `state` is a class of `configs/verbs.toml`, or `seen` where no action but a place was told. `owner` is whose the
    object is when it is not the wearer's. `resolved`: the event said "it"; not `certain`: it may be wrong.
    """

    node: Node
    object: str
    state: str
    place: str
    holder: str
    verb: str
    actor: str
    owner: str
    resolved: bool
    certain: bool

    @property
    def since_ms(self) -> int:
        """When it began, on the clock of the event's source."""
        return self.node.t_start_ms or 0


def states_told(node: Node, key: str = "states") -> list[StateAt]:
    """The states that one event tells, in the order in which they came about.

    With the key "unresolved" those of an "it" that its clip does not name.
    """
    return [
        StateAt(
            node=node,
            **{
                name: str(told.get(name, ""))
                for name in ("object", "state", "place", "holder", "verb", "actor", "owner")
            },
            resolved=bool(told.get("resolved", False)),
            certain=bool(told.get("certain", True)),
        )
        for told in node.payload.get(key, [])
    ]


def state_at(snapshot: Snapshot, view: View, handles: Sequence[str], limit: int = LATEST) -> list[StateAt]:
    """The visible states of the objects with these handles, the latest first, of the latest `limit` events.

    None where the channel object_lifecycle is switched off.
    """
    if NAME in view.without:
        return []
    wanted = frozenset(handles)
    nodes = snapshot.last_mentions(view, handles, "state", limit)
    return [told for node in nodes for told in reversed(states_told(node)) if told.object in wanted]
