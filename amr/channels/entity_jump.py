"""entity_jump: the previous event with the same person → the event, when the person was away (AMR-Graph §6.3).

The wearer is a person like any other: there is an edge over every long pause of theirs.
"""

from __future__ import annotations

from amr.channels.chain import Seen
from amr.channels.links import Arrival, Link

NAME = "entity_jump"
AWAY_MS = 60_000
"""A shorter gap is no jump: the temporal channel leads there."""


def link(new: Arrival) -> list[Link]:
    """One edge from each earlier event, with all the persons that were last seen there."""
    together: dict[int, tuple[Seen, list[str]]] = {}
    for person, previous in new.persons():
        if new.seen.place[0] - previous.end_ms > AWAY_MS:
            together.setdefault(previous.node_id, (previous, []))[1].append(person)
    return [
        Link(NAME, previous, {"gap_ms": new.gap_ms(previous), "persons": sorted(persons)})
        for previous, persons in together.values()
    ]
