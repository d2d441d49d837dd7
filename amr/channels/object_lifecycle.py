"""object_lifecycle: the previous event with an object → the event that changes its state (AMR-Graph §6.4).

The edge comes from the last event that *contains* the object, whatever happened to it there; its payload also names
the event of the previous state, so that the states of an object are a chain of their own.
"""

from __future__ import annotations

from typing import Any

from amr.channels.links import Arrival, Link

NAME = "object_lifecycle"


def link(new: Arrival) -> list[Link]:
    """One edge for each object that an action of the event changes; of several changes the last counts."""
    changes = {
        state["object"]: state
        for state in new.node.payload.get("states", [])
        if state["verb"] and state.get("certain", True)
    }
    links = []
    for thing, state in changes.items():
        previous = new.before.get(("object", thing))
        if previous is not None:
            links.append(Link(NAME, previous, _payload(new, state)))
    return links


def _payload(new: Arrival, state: dict[str, Any]) -> dict[str, Any]:
    told = new.before.get(("state", state["object"]))
    return {
        **{name: state[name] for name in ("object", "verb", "state", "place", "holder")},
        "previous": None if told is None else told.hash,
    }
