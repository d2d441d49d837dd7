"""The sentences of an extractive answer: quotes with their times, places and persons as people say them."""

from __future__ import annotations

import re

from amr.records import WEARER, Node, ObjectState
from amr.retrieve.times import show_time

NOTHING = "Nothing in this memory answers that."
_LINE = 500
"""Characters."""
_MINE = ((r"\bmy\b", "your"), (r"\bmine\b", "yours"), (r"\bme\b", "you"), (r"\bour\b", "your"))


def in_a_line(text: str) -> str:
    """A text on one line, without the rest of a very long one."""
    line = " ".join(text.split())
    return line if len(line) <= _LINE else f"{line[:_LINE].rstrip()} …"


def quote(node: Node) -> str:
    """The words of a node with their time; somebody's speech is quoted already."""
    text = node.text if '"' in node.text else f'"{node.text}"'
    return f"{text} ({show_time(node)})"


def person(handle: str) -> str:
    """A person as an answer calls them; the wearer of the camera is the one who asks."""
    if handle == WEARER:
        return "You"
    words = handle.replace("_", " ")
    return words.title() if len(words.split()) < 3 and not words.startswith("voice") else words


def to_you(place: str) -> str:
    """A place as told to the wearer: "in my pocket" becomes "in your pocket"."""
    for mine, yours in _MINE:
        place = re.sub(mine, yours, place)
    return place


def whereabouts(state: ObjectState, node: Node, room: str = "") -> str:
    """One sentence on where a thing is, with the words that prove it; `room` is where one had just come."""
    return f"{_where(state)}{f' ({to_you(room)})' if room else ''}: {quote(node)}"


def _where(state: ObjectState) -> str:
    place = to_you(state.place) if state.place else ""
    holder = person(state.holder) if state.holder else ""
    if state.state in ("held", "worn"):
        holder = holder or "Somebody"
    if state.state == "held" and place:
        return f"{holder} took it {place}"
    if state.state == "held":
        return "You were last seen holding it" if holder == "You" else f"{holder} was last seen holding it"
    if state.state == "worn":
        return "You were last seen wearing it" if holder == "You" else f"{holder} was last seen wearing it"
    if state.state == "given":
        return f"{holder} has it" if holder and holder != "You" else ("You have it" if holder else "It was handed on")
    if state.state == "consumed":
        return "It was used up"
    if state.state == "thrown_away":
        return f"It was thrown away {place}".rstrip()
    if state.state == "lost":
        return "It was lost"
    return place[:1].upper() + place[1:] if place else "It was put down; where is not said"
