"""temporal: the previous event of the source → the event, with the gap between them (AMR-Graph §6.2)."""

from __future__ import annotations

from amr.channels.links import Arrival, Link
from amr.store.chains import EVENTS

NAME = "temporal"


def link(new: Arrival) -> list[Link]:
    """The edge from the event before."""
    previous = new.before.get((EVENTS, ""))
    return [] if previous is None else [Link(NAME, previous, {"gap_ms": new.gap_ms(previous)})]
