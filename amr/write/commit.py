"""The only way into the store: nodes go through every channel, then everything is committed at once."""

from __future__ import annotations

from amr.channels import CHANNELS
from amr.channels.links import Link
from amr.channels.view import View
from amr.records import Edge, Node
from amr.store.hashing import edge_hash
from amr.store.rows import Batch
from amr.store.writer import Writer


def link_events(writer: Writer, view: View, batch: Batch, events: list[Node]) -> None:
    """Lets the channels link the events of one clip, in time order, and adds what they ask for to the batch."""
    for channel in CHANNELS:
        links = channel.link(view, events)
        batch.edges += [_edge(writer, link) for link in links.edges]
        batch.retired_edges += links.retired
    view.add(events)


def _edge(writer: Writer, link: Link) -> Edge:
    return Edge(
        edge_id=writer.new_id("edges"),
        scope_id=link.dst.scope_id,
        channel=link.channel,
        src=link.src.node_id,
        dst=link.dst.node_id,
        payload=link.payload,
        hash=edge_hash(link.channel, link.src.hash, link.dst.hash, link.payload),
        learnt_at=max(link.src.learnt_at, link.dst.learnt_at),
    )
