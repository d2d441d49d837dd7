"""What the memory tells of a thing: every state an event leaves it in, with the event that tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from amr.channels.states import StateAt, state_at, states_told
from amr.language.states import GONE, HELD, PLACED
from amr.records import WEARER, Node
from amr.retrieve.relevance import Candidate

if TYPE_CHECKING:
    from amr.retrieve.query import Search

Ids = NDArray[np.int64]

_LOOK_BACK = 120
_FOLLOWING = 10
_SOON_MS = 20_000
_IN_HAND = PLACED | HELD | {"off", "folded", "washed"}
_USED_UP = frozenset(("eat up", "drink up", "finish", "finish off", "use up", "devour", "swallow", "eat"))


@dataclass
class Told:
    """A state of a thing, the event that tells it, and the events that name the thing or the place for it.

    `place` is in the words of the event, empty if it names none; `holder` and `actor` are handles. `sure` is false
    for what was only meant, or only said by somebody.
    """

    node: Node
    object: str
    state: str
    place: str
    holder: str
    actor: str
    owner: str
    verb: str
    sure: bool
    resolved: bool = False
    beside: list[Node] = field(default_factory=list)
    cited: list[Candidate] = field(default_factory=list)
    relevance: float = 0.0

    @property
    def moment(self) -> tuple[int, int]:
        """When, to sort by."""
        return self.node.in_time

    @property
    def done(self) -> bool:
        """Whether it is told or seen as done, not only said by somebody."""
        return self.node.payload.get("modality") != "heard"

    @property
    def tells(self) -> bool:
        """Whether it says where the thing is or who has it."""
        if self.state in PLACED | {"seen"}:
            return bool(self.place) or (self.actor in (WEARER, "") and self.state != "seen" and self.done)
        if self.state == "consumed" and self.verb not in _USED_UP:
            return False
        return self.state in HELD | GONE | {"given"} or (bool(self.place) and self.state != "consumed")


def sightings(search: Search, handles: Sequence[str]) -> list[Told]:
    """The states of a thing, latest first, of the latest events that tell one; none without their channel."""
    states = state_at(search.snapshot, search.view, handles, _LOOK_BACK)
    naming = search.mentioning(handles, "object")
    ids = np.array(sorted({state.node.node_id for state in states}), np.int64)
    nodes = search.snapshot.nodes(sorted(_reach(search, ids, naming)))
    found = [_told(state) for state in states]
    last = {one.node.node_id: one for one in reversed(found)}
    for one in last.values():
        found += _carried_on(one, [nodes[i] for i in _after(search, one.node.node_id)])
    for one in found:
        before = int(np.searchsorted(naming, one.node.node_id)) - 1
        if one.resolved and not one.beside and before >= 0 and int(naming[before]) in nodes:
            one.beside = [nodes[int(naming[before])]]
    return sorted(found, key=lambda one: one.moment, reverse=True)


def _reach(search: Search, ids: Ids, naming: Ids) -> set[int]:
    """All events that may be looked at: those that tell a state, what follows them, and what names the thing."""
    before = np.maximum(np.searchsorted(naming, ids) - 1, 0)
    after = [later for node_id in ids.tolist() for later in _after(search, node_id)]
    return {*ids.tolist(), *after, *(naming[before].tolist() if len(naming) else [])}


def _after(search: Search, node_id: int) -> list[int]:
    place = int(np.searchsorted(search.visible, node_id))
    return [int(i) for i in search.visible[place + 1 : place + 1 + _FOLLOWING]]


def _told(state: StateAt, thing: Told | None = None) -> Told:
    """A state, of the `thing` that it goes on about if one is given."""
    return Told(
        node=state.node,
        object=thing.object if thing else state.object,
        state=state.state,
        place=state.place,
        holder=state.holder,
        actor=state.actor,
        owner=thing.owner if thing else state.owner,
        verb=state.verb,
        sure=state.certain and state.node.payload.get("modality") != "heard",
        resolved=state.resolved,
        beside=[thing.node] if thing else [],
    )


def _carried_on(one: Told, after: Sequence[Node]) -> list[Told]:
    """What is done with "it" where the next clip begins, when the thing was handled as this one ended."""
    if one.state not in _IN_HAND or not one.sure:
        return []
    found: list[Told] = []
    for node in after:
        if node.moment_ms - one.node.moment_ms > _SOON_MS or node.source_id != one.node.source_id:
            break
        open_ends = [state for state in states_told(node, "unresolved") if state.actor == one.actor]
        found += [_told(state, one) for state in open_ends[-1:]]
        if node.payload.get("states"):
            break
    return found


def preceding(search: Search, node: Node, count: int) -> list[Node]:
    """The visible nodes right before one, the nearest first."""
    place = int(np.searchsorted(search.visible, node.node_id))
    ids = search.visible[max(0, place - count) : place]
    nodes = search.snapshot.nodes(ids)
    return [nodes[int(i)] for i in ids[::-1]]
