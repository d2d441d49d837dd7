"""Where a thing was last known to be: the latest event whose action moved it, or that says where it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from amr.language.lemmas import word_list
from amr.language.names import handle, normalise_object
from amr.records import Node, ObjectState
from amr.retrieve.anchors import object_handles
from amr.retrieve.calibration import calibration
from amr.retrieve.question import WEARER
from amr.retrieve.relevance import Candidate
from amr.retrieve.states import state_of

if TYPE_CHECKING:
    from amr.retrieve.query import Search

_LOOK_BACK = 400
_JUDGED = 40
_FOLLOWING = 5
_SOON_MS = 15_000
_SAME_MOMENT_MS = 60_000
_AS_RELEVANT = 0.18
_LEAST = 0.4
_MOVED = frozenset(("located", "inside"))
_HELD = frozenset(("held", "taken_out", "worn"))
_GONE = frozenset(("consumed", "thrown_away", "lost"))
_IT = frozenset(("it", "them", "this", "that", "these", "those"))
_ANYWHERE = frozenset(
    ("here", "there", "over there", "over here", "down here", "up there", "somewhere", "back", "away", "aside")
)
_IN = re.compile(r"in\b|into\b|inside\b")
_RECIPIENT = re.compile(r"\bto\s+(.+)$")
_IN_HAND = re.compile(r"\bhands?\b")


@dataclass
class Told:
    """A state of a thing, the event that tells it, and the event that names the thing if another one does."""

    state: ObjectState
    node: Node
    named: Node
    sure: bool
    cited: list[Candidate] = field(default_factory=list)
    relevance: float = 0.0


def last_known(search: Search, name: str, best: float) -> Told | None:
    """What the visible events say last about a thing; None when the memory has none like it or says nothing.

    `best` is the relevance of the best evidence for the question. Of the states that bear on the question about
    as much as the best, the latest counts; certain statements come before uncertain ones.
    """
    told = _told(search, name, object_handles(search.snapshot, search.view.scope, name))[:_JUDGED]
    _judge(search, told)
    most = max((one.relevance for one in told), default=0.0)
    if max(best, most) < calibration().threshold:
        return None
    kept = [one for one in told if one.relevance >= max(_LEAST, most - _AS_RELEVANT)]
    return _last(kept) if kept else None


def _told(search: Search, name: str, handles: list[str]) -> list[Told]:
    """Every state that the latest events tell of a thing, latest first."""
    ids = search.mentioning(handles, "object")[-_LOOK_BACK:]
    places = np.searchsorted(search.visible, ids)
    reach = {int(i) for place in places for i in search.visible[place : place + _FOLLOWING + 1]}
    nodes = search.snapshot.nodes(sorted(reach))
    wanted, known = frozenset(handles), {int(i) for i in ids}
    found: list[Told] = []
    for node_id, place in zip(ids, places, strict=True):
        node = nodes[int(node_id)]
        after = [nodes[int(i)] for i in search.visible[place + 1 : place + _FOLLOWING + 1]]
        told = _state(node, name, wanted)
        if told is None or not _IN.match(told.state.place or ""):  # then "it" may be what the thing is in
            told = _carried_on(node, after, name, known) or told
        if told is not None:
            found.append(told)
    return sorted(found, key=lambda one: _moment(one.node), reverse=True)


def _moment(node: Node) -> tuple[int, int]:
    start = node.t_start_ms or 0
    return (start if node.time_ms is None else node.time_ms), node.node_id


def _judge(search: Search, told: list[Told]) -> None:
    """Fills in how far each bears on the question; the event that names the thing speaks for what follows."""
    ids = sorted({node.node_id for one in told for node in (one.node, one.named)})
    candidates = {candidate.node.node_id: candidate for candidate in search.judged(ids, {})}
    for one in told:
        one.cited = [candidates[i] for i in dict.fromkeys((one.node.node_id, one.named.node_id))]
        one.relevance = max(candidate.relevance for candidate in one.cited)


def _last(told: Sequence[Told]) -> Told:
    """The state to believe, of some told latest first."""
    sure = next((one for one in told if one.sure), told[0])
    newest = told[0]
    if sure.state.state in _HELD and newest is not sure and newest.state.place and _soon(sure, newest):
        return newest  # what one holds and is about to put down is put down, unless something says otherwise
    if sure.state.place is None and sure.state.state in _MOVED:
        earlier = [one for one in told if one.state.place and _soon(one, sure) and one.state.state in _MOVED]
        return earlier[0] if earlier else sure
    return sure


def _soon(first: Told, second: Told) -> bool:
    apart = _moment(second.node)[0] - _moment(first.node)[0]
    return 0 <= apart <= _SAME_MOMENT_MS and first.node.source_id == second.node.source_id


def _carried_on(node: Node, after: Sequence[Node], name: str, known: set[int]) -> Told | None:
    """What is done next with "it", as long as nothing else is taken up: "I picked up the iPad. Put it on the sofa."."""
    told: Told | None = None
    acted = {str(action.get("actor", "")) for action in node.payload.get("actions", [])}
    for later in after:
        apart = (later.t_start_ms or 0) - (node.t_start_ms or 0)
        if later.source_id != node.source_id or apart > _SOON_MS or later.node_id in known:
            break
        if later.payload.get("modality") == "heard":
            continue
        actions = [action for action in later.payload.get("actions", []) if action.get("object")]
        if any(_takes_up(action) for action in actions):
            break
        for action in actions:
            if str(action["object"]).lower() in _IT and action.get("actor", WEARER) in acted:
                after_it = _after(action)
                if after_it is not None and (after_it[1] or after_it[2]):
                    told = _tell(after_it, later, node, name, True)
    return told


def _takes_up(action: dict[str, Any]) -> bool:
    thing = str(action["object"]).lower()
    return thing not in word_list("unresolved") and state_of(str(action.get("verb", ""))) in _MOVED | _HELD | {"given"}


def _state(node: Node, name: str, handles: frozenset[str]) -> Told | None:
    """What the last telling action of an event leaves the thing in."""
    sure = bool(node.payload.get("certain", True))
    for action in reversed(node.payload.get("actions", [])):
        if _names(action.get("object", ""), handles):
            found = _after(action)
            if found is not None:
                return _tell(found, node, node, name, sure)
    for thing, place in node.payload.get("places", {}).items():
        if place and _names(thing, handles) and not _was_moved(node, handles):
            return _tell(("seen", place, None), node, node, name, sure)
    return None


def _tell(found: tuple[str, str | None, str | None], node: Node, named: Node, name: str, sure: bool) -> Told:
    state = ObjectState(name, found[0], found[1], found[2], node.t_start_ms or 0, node.node_id)
    return Told(state, node, named, sure)


def _names(thing: str, handles: frozenset[str]) -> bool:
    return bool(thing) and handle(normalise_object(thing)) in handles


def _was_moved(node: Node, handles: frozenset[str]) -> bool:
    return any(_names(action.get("object", ""), handles) for action in node.payload.get("actions", []))


def _after(action: dict[str, Any]) -> tuple[str, str | None, str | None] | None:
    """(state, place, holder) after an action; None for one that tells nothing of where the thing is."""
    state = state_of(str(action.get("verb", "")))
    place = str(action.get("spatial_relation", "")).strip() or None
    place = None if place is not None and place.lower() in _ANYWHERE else place
    actor = str(action.get("actor", "")) or WEARER
    if state == "given":
        recipient = _RECIPIENT.search(place or "")
        return state, None, handle(recipient[1]) if recipient else None
    if state in _HELD or (state is not None and place and _IN_HAND.search(place)):
        return ("worn" if state == "worn" else "held"), None, actor
    if state in _MOVED and place is None and actor != WEARER:
        return None  # that somebody put one down somewhere says nothing
    if state in _MOVED or state in _GONE:
        return str(state), place, None
    return (state, place, None) if state is not None and place else None
