"""Where a thing was last known to be: the latest event whose action moved it, or that says where it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amr.perceive.names import handle, normalise_object
from amr.records import Node, ObjectState
from amr.retrieve.anchors import object_handles
from amr.retrieve.question import WEARER
from amr.retrieve.states import state_of

if TYPE_CHECKING:
    from amr.retrieve.query import Search

_LOOK_BACK = 400
_MOVED = frozenset(("located", "inside"))
_HELD = frozenset(("held", "taken_out", "worn"))
_GONE = frozenset(("consumed", "thrown_away", "lost"))
_RECIPIENT = re.compile(r"\bto\s+(.+)$")


@dataclass(frozen=True)
class LastKnown:
    """The state of a thing and the event that tells it."""

    state: ObjectState
    node: Node


def last_known(search: Search, name: str) -> LastKnown | None:
    """What the visible events say last about a thing; certain statements before uncertain ones."""
    handles = object_handles(search.snapshot, search.view.scope, name)
    ids = search.mentioning(handles, "object")[-_LOOK_BACK:]
    nodes = sorted(search.snapshot.nodes(ids).values(), key=_moment, reverse=True)
    unsure: LastKnown | None = None
    for node in nodes:
        state = _state(node, name, frozenset(handles))
        if state is None:
            continue
        if node.payload.get("certain", True):
            return LastKnown(state, node)
        unsure = unsure or LastKnown(state, node)
    return unsure


def _moment(node: Node) -> tuple[int, int]:
    start = node.t_start_ms or 0
    return (start if node.time_ms is None else node.time_ms), node.node_id


def _state(node: Node, name: str, handles: frozenset[str]) -> ObjectState | None:
    """What the last telling action of an event leaves the thing in."""
    for action in reversed(node.payload.get("actions", [])):
        if _names(action.get("object", ""), handles):
            found = _after(action)
            if found is not None:
                return ObjectState(name, found[0], found[1], found[2], node.t_start_ms or 0, node.node_id)
    for thing, place in node.payload.get("places", {}).items():
        if place and _names(thing, handles) and not _was_moved(node, handles):
            return ObjectState(name, "seen", place, None, node.t_start_ms or 0, node.node_id)
    return None


def _names(thing: str, handles: frozenset[str]) -> bool:
    return bool(thing) and handle(normalise_object(thing)) in handles


def _was_moved(node: Node, handles: frozenset[str]) -> bool:
    return any(_names(action.get("object", ""), handles) for action in node.payload.get("actions", []))


def _after(action: dict[str, Any]) -> tuple[str, str | None, str | None] | None:
    """(state, place, holder) after an action; None for one that tells nothing of where the thing is."""
    state = state_of(str(action.get("verb", "")))
    place = str(action.get("spatial_relation", "")).strip() or None
    actor = str(action.get("actor", "")) or WEARER
    if state == "given":
        recipient = _RECIPIENT.search(place or "")
        return state, None, handle(recipient[1]) if recipient else None
    if state in _HELD:
        return state, None if state == "taken_out" else place, actor
    if state in _MOVED or state in _GONE:
        return state, place, None
    return (state, place, None) if state is not None and place else None
