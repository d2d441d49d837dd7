"""Every object and every person of a memory: where it last was, first and last seen, how often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from amr.channels.object_lifecycle import NAME
from amr.channels.states import StateAt, states_told
from amr.language.lemmas import word_list
from amr.records import Node
from amr.retrieve.times import iso_time, show_time

if TYPE_CHECKING:
    from amr.store.roster import Known
    from amr.store.rows import View
    from amr.store.snapshot import Snapshot


@dataclass(frozen=True)
class ObjectSeen:
    """An object, how many events contain it, the first and the last of them, and its last known state."""

    handle: str
    count: int
    first: Node
    last: Node
    state: StateAt | None


@dataclass(frozen=True)
class PersonSeen:
    """A person, how many events they are in, the first and the last of them, and the other handles they have."""

    handle: str
    count: int
    first: Node
    last: Node
    same_as: list[str]

    @property
    def scene(self) -> str:
        """The kind of place where they last were, empty if not known."""
        return str(self.last.payload.get("scene_type", ""))

    @property
    def place(self) -> str:
        """Where they last did something, empty if not known."""
        mine = [one for one in self.last.payload.get("actions", []) if one.get("actor") == self.handle]
        return next((place for one in reversed(mine) if (place := str(one.get("spatial_relation", "")))), "")


def objects(snapshot: Snapshot, view: View) -> list[ObjectSeen]:
    """Every object in what a view sees, the most often seen first; no person, and nothing that is only "it"."""
    persons = {one.handle for one in snapshot.roster(view, "person")}
    known = [one for one in snapshot.roster(view, "object") if one.handle not in persons | word_list("unresolved")]
    changes = [] if NAME in view.without else snapshot.roster(view, "state")
    told = {one.handle: one.last for one in changes}
    nodes = _nodes(snapshot, known, told.values())
    return [
        ObjectSeen(one.handle, one.count, nodes[one.first], nodes[one.last], _state(one.handle, nodes, told))
        for one in known
    ]


def _state(handle: str, nodes: dict[int, Node], told: dict[str, int]) -> StateAt | None:
    if handle not in told:
        return None
    return next(one for one in reversed(states_told(nodes[told[handle]])) if one.object == handle)


def people(snapshot: Snapshot, view: View) -> list[PersonSeen]:
    """Every person in what a view sees, the most often seen first; handles of one person go together."""
    known = {one.handle: one for one in snapshot.roster(view, "person")}
    nodes = _nodes(snapshot, list(known.values()), ())
    classes = snapshot.people.classes(view)
    found: dict[str, PersonSeen] = {}
    for name, one in known.items():
        same = [other for other in classes.all_of([name]) if other in known]
        if not found.keys() & set(same):
            first = min((nodes[known[other].first] for other in same), key=lambda node: node.in_time)
            last = max((nodes[known[other].last] for other in same), key=lambda node: node.in_time)
            count = one.count if len(same) == 1 else len(_seen_as(snapshot, view, same))
            found[name] = PersonSeen(name, count, first, last, sorted({*same} - {name}))
    return sorted(found.values(), key=lambda person: (-person.count, person.handle))


def _seen_as(snapshot: Snapshot, view: View, handles: Sequence[str]) -> NDArray[np.int64]:
    return np.intersect1d(snapshot.mentioning(view.scope, handles, "person"), snapshot.visible(view))


def _nodes(snapshot: Snapshot, known: Sequence[Known], more: Any) -> dict[int, Node]:
    return snapshot.nodes(sorted({end for one in known for end in (one.first, one.last)} | set(more)))


def _moment(node: Node) -> dict[str, Any]:
    """An event's id and start: seconds from the source's start, and ISO wall clock or null."""
    start = None if node.t_start_ms is None else node.t_start_ms / 1000
    return {
        "node_id": node.node_id,
        "t_start": start,
        "time": None if node.time_ms is None else iso_time(node.time_ms),
    }


def objects_json(found: Sequence[ObjectSeen]) -> dict[str, Any]:
    """The `objects` object; `since` is the event that told the last known state, null when none did."""
    return {
        "objects": [
            {
                "object": one.handle,
                "count": one.count,
                "state": one.state.state if one.state else None,
                "place": (one.state.place or None) if one.state else None,
                "holder": (one.state.holder or None) if one.state else None,
                "owner": (one.state.owner or None) if one.state else None,
                "since": _moment(one.state.node) if one.state else None,
                "first": _moment(one.first),
                "last": _moment(one.last),
            }
            for one in found
        ]
    }


def objects_text(found: Sequence[ObjectSeen]) -> str:
    """One line per object."""
    lines = [f"{one.handle:<24} {_told(one.state):<48} {_seen(one)}" for one in found]
    return "\n".join(lines) or "No objects were seen."


def _told(state: StateAt | None) -> str:
    if state is None:
        return "-"
    where = f"by {state.holder}" if state.holder else state.place
    whose = f" ({state.owner}'s)" if state.owner else ""
    return f"{state.state.replace('_', ' ')} {where}".strip() + f"{whose} since {show_time(state.node)}"


def people_json(found: Sequence[PersonSeen]) -> dict[str, Any]:
    """The `people` object; `scene` and `place` are those of the last event, null if not known."""
    return {
        "people": [
            {
                "person": one.handle,
                "same_as": one.same_as,
                "count": one.count,
                "scene": one.scene or None,
                "place": one.place or None,
                "first": _moment(one.first),
                "last": _moment(one.last),
            }
            for one in found
        ]
    }


def people_text(found: Sequence[PersonSeen]) -> str:
    """One line per person."""
    lines = [
        f"{' = '.join([one.handle, *one.same_as]):<32} {f'{one.place} {one.scene}'.strip():<32} {_seen(one)}"
        for one in found
    ]
    return "\n".join(lines) or "Nobody was seen."


def _seen(one: ObjectSeen | PersonSeen) -> str:
    return f"{one.count} ×, first {show_time(one.first)}, last {show_time(one.last)}"
