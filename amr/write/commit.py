"""The only way into the store: events go through every channel, then everything is committed at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from amr.channels.versions import Version, versions
from amr.channels.view import View
from amr.channels.weave import Woven, weave, weave_passes
from amr.records import Edge, Node
from amr.store.hashing import edge_hash
from amr.store.rows import Batch, PassRow, SourceRow
from amr.store.writer import Writer


def link_events(writer: Writer, view: View, batch: Batch, events: Sequence[Node], leaving: Sequence[Node] = ()) -> None:
    """Has the channels link the events of a batch, which holds their mentions, and adds what they ask for to it.

    `leaving` are stored events that the batch retires. What is not the latest of its source must be in a batch of
    its own, with all events that it is committed with.
    """
    view.note(batch.sources, batch.passes)
    placed = view.place(events, batch.mentions)
    before = None if leaving else view.append(placed)
    if before is not None:
        asked = Woven([version for one, known in zip(placed, before, strict=True) for version in versions(one, known)])
    else:
        until = {node.node_id: node.retired_at for node in leaving}
        stored = view.place_stored(until)
        asked = weave(view, placed, [replace(x, seen=replace(x.seen, until=until[x.seen.node_id])) for x in stored])
    batch.edges += _edges(writer, asked.edges)
    batch.retired_edges += asked.retired


def finish_pass(writer: Writer, source: SourceRow, revealed: PassRow | None, replaced: Sequence[PassRow]) -> None:
    """Updates a source's row; a staged pass that is `revealed` becomes live, with the edges that change with that.

    The `replaced` passes are withdrawn.
    """
    links = Batch()
    if revealed is not None:
        view = View(writer.directory)
        view.note([source], [replace(revealed, state="live"), *(replace(row, state="replaced") for row in replaced)])
        asked = weave_passes(view, revealed.pass_id, [row.pass_id for row in replaced])
        links = Batch(edges=_edges(writer, asked.edges), retired_edges=asked.retired)
    writer.finish_pass(source, revealed, replaced, links)


def _edges(writer: Writer, asked: Iterable[Version]) -> list[Edge]:
    found = []
    for version in asked:
        link, dst = version.link, version.dst.node
        found.append(
            Edge(
                edge_id=writer.new_id("edges"),
                scope_id=dst.scope_id,
                channel=link.channel,
                src=link.src.node_id,
                dst=dst.node_id,
                payload=link.payload,
                hash=edge_hash(link.channel, link.src.hash, dst.hash, link.payload),
                learnt_at=version.since,
                retired_at=version.until,
            )
        )
    return found
