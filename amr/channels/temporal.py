"""temporal: the previous event of the source → the event, with the gap between them (AMR-Graph §6.2).

Neighbours are found by time, not by arrival: an event that comes late is spliced in, and the edge that
skipped it is retired.
"""

from __future__ import annotations

from itertools import pairwise

from amr.channels.links import Link, Links
from amr.channels.view import View, place_of
from amr.records import Node

NAME = "temporal"


def link(view: View, new: list[Node]) -> Links:
    """The edges that chain `new`, the events of one clip in time order, into their source."""
    if not new:
        return Links()
    known = view.around(new[0], new[-1])
    chain = sorted([*known, *new], key=lambda node: (*place_of(node), node.node_id))
    before = [(a.node_id, b.node_id) for a, b in pairwise(known)]
    after = [(a, b) for a, b in pairwise(chain) if (a.node_id, b.node_id) not in before]
    kept = {(a.node_id, b.node_id) for a, b in pairwise(chain)}
    skipped = [pair for pair in before if pair not in kept]
    learnt = {node.node_id: node.learnt_at for node in known}
    return Links(
        edges=[Link(NAME, a, b, {"gap_ms": max(0, (b.t_start_ms or 0) - (a.t_end_ms or 0))}) for a, b in after],
        # At no as-of had the later event been seen without the one between, so the edge never held.
        retired=[
            (edge_id, max(learnt[src], learnt[dst]))
            for (src, dst), edge_id in view.standing_edges(NAME, skipped).items()
        ],
    )
