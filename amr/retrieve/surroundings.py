"""What the moment before adds to a place: the room one had come into, the table one had walked up to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from amr.language.lemmas import word_list
from amr.language.states import PLACED
from amr.records import WEARER, Node
from amr.retrieve.sightings import Told, preceding

if TYPE_CHECKING:
    from amr.retrieve.query import Search

_BEFORE = 30
_ROOM_MS = 45_000
_WALKED_UP_MS = 12_000
_EARLIER_MS = 1_800_000
_SAME_MOMENT_MS = 60_000
_GOING = frozenset(
    ("walk", "come", "go", "enter", "arrive", "reach", "return", "step", "run", "head", "move", "get", "climb", "rush")
)
_STAYING = frozenset(("stand", "be", "sit"))
_INTO = re.compile(r"^(?:(?:back|over|up|down|out|again)\s+)*(into|inside|in|to|at|onto|on|towards?)\s+(.+)$")
_AWAY = re.compile(r"\b(?:upstairs|downstairs|stairs|out|outside|through|past|from|floor)\b")
_DIRECTION = frozenset(
    """left right front back side middle center corner place area direction distance way top bottom edge end exit floor
    ground upstairs downstairs entrance""".split()  # noqa: SIM905
)


def room(search: Search, one: Told) -> tuple[str, Node | None]:
    """Where the wearer had just come as they put a thing down, and the event that says so; empty if unknown."""
    if one.actor not in (WEARER, "") or _names_room(one.place):
        return "", None
    for node in (one.node, *preceding(search, one.node, _BEFORE)):
        if node.source_id != one.node.source_id or one.node.moment_ms - node.moment_ms > _ROOM_MS:
            break
        for place in reversed(_went(node)):
            if place.startswith("in ") or _names_room(place):
                return place, node
            if not place:
                return "", None
    return "", None


def _went(node: Node) -> list[str]:
    """The places that the wearer goes to in an event: "in the kitchen", "at the table"; "" for away from where."""
    found: list[str] = []
    for action in node.payload.get("actions", []) if node.payload.get("modality") != "heard" else []:
        verb, _, particle = str(action.get("verb", "")).partition(" ")
        thing, place = str(action.get("object", "")), str(action.get("spatial_relation", ""))
        if action.get("actor") not in (WEARER, "") or verb not in _GOING | _STAYING:
            continue
        match = _INTO.match(place)
        if thing and verb in ("enter", "reach"):
            found.append(f"{'in' if verb == 'enter' else 'at'} the {thing}")
        elif match is not None and not thing and not _AWAY.search(match[2]):
            found.append(f"{'in' if match[1].startswith('in') else 'at'} {match[2]}")
        elif verb in _GOING and (particle == "out" or _AWAY.search(place)):
            found.append("")
    return found


def _names_room(place: str) -> bool:
    words = {word.lower() for word in re.findall(r"[A-Za-z-]+", place)}
    return bool(words & (word_list("rooms") - _DIRECTION))


def completed(search: Search, one: Told, found: Sequence[Told]) -> tuple[str, list[Node]]:
    """The place of a state, and the events that complete it where it names none.

    "I walked up to the table. I put down the plate.": on the table; "I put it back.": where it had been before.
    """
    if one.place:
        return one.place, []
    for node in (one.node, *preceding(search, one.node, 6)):
        if node.source_id != one.node.source_id or one.node.moment_ms - node.moment_ms > _WALKED_UP_MS:
            break
        places = [place for place in _went(node) if place]
        if places:
            return places[-1], [node]
    again = one.verb.endswith(" down") or re.search(r"\b(?:back|return\w*)\b", one.node.text) is not None
    earlier = next(
        (
            other
            for other in found
            if other.moment < one.moment
            and other.place
            and other.state in PLACED
            and one.node.moment_ms - other.node.moment_ms <= (_EARLIER_MS if again else _SAME_MOMENT_MS)
        ),
        None,
    )
    return (earlier.place, [earlier.node]) if earlier else ("", [])
