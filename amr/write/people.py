"""Entities: the names by which a person of a pass is known, and what somebody decides about two handles (design §4)."""

from __future__ import annotations

from dataclasses import replace

from amr.errors import UsageError
from amr.language.names import handle
from amr.records import Edge, Mention, Node
from amr.store import database
from amr.store.hashing import edge_hash
from amr.store.people import ALIAS, SAME_AS, Classes
from amr.store.rows import Batch, View
from amr.store.writer import Writer
from amr.write.events import ClipPlace, timeless_node


class Entities:
    """The persons of a pass that a model called by name."""

    def __init__(self, writer: Writer, pass_id: int) -> None:
        self._writer = writer
        with database.reading(writer.directory) as snapshot:
            self._known = snapshot.people.known_in(pass_id)

    def name(self, place: ClipPlace, events: list[Node], batch: Batch) -> None:
        """Adds to the batch what the events of a clip, as they were perceived, tell of who is called what."""
        named = {(person, handle(name)) for node in events for person, name in node.payload.get("names", {}).items()}
        for person, name in sorted(pair for pair in named if pair[1] and pair[0] != pair[1]):
            if person not in self._known:
                node = _entity_of_pass(self._writer.new_id("nodes"), person, place)
                batch.nodes.append(node)
                self._known[person] = (node.node_id, {})
            node_id, names = self._known[person]
            for one in (person, name):
                # A clip that comes late may have told it before.
                if names.get(one, place.learnt_at() + 1) > place.learnt_at():
                    names[one] = place.learnt_at()
                    batch.mentions.append(
                        Mention(node_id, place.scope_id, one, ALIAS, place.start_ms, place.learnt_at())
                    )


def _entity(node_id: int, person: str, scope: str, learnt_at: int, parent_id: int | None) -> Node:
    """An entity of a scope."""
    node = timeless_node(node_id, "entity", scope, "", {"handle": person})
    return replace(node, learnt_at=learnt_at, parent_id=parent_id)


def _entity_of_pass(node_id: int, person: str, place: ClipPlace) -> Node:
    node = timeless_node(node_id, "entity", place.scope_id, place.source_key, {"handle": person})
    return replace(
        node,
        source_id=place.source_id,
        pass_id=place.pass_id,
        parent_id=place.parent_id,
        learnt_at=place.learnt_at(),
    )


def settle(writer: Writer, scope: str, first: str, second: str, same: bool) -> None:
    """Records that two handles are one person, or two. An earlier decision about them is retired, never overwritten.

    Raises UsageError when there is no such person, or other decisions say otherwise.
    """
    a, b = sorted((first, second))
    with database.reading(writer.directory) as snapshot:
        seen = snapshot.people.first_seen(scope)
        settled = snapshot.people.settled(View(scope=scope))
        ends = {name: snapshot.people.entity(scope, name) for name in (a, b)}
        parent = snapshot.world_node(scope, None)
    for name in (a, b):
        if name not in seen:
            raise UsageError(f"There is nobody called {name} in this scope; amr people lists who is there.")
    if a == b:
        raise UsageError(f"{a} and {b} are the same name; give two.")
    others = [pair for pair in settled if pair.handles != (a, b)]
    _require_consistent((a, b), same, [p.handles for p in others if p.same], [p.handles for p in others if not p.same])
    old = [pair for pair in settled if pair.handles == (a, b)]
    if old and old[-1].same == same:
        return
    batch = Batch(retired_edges=[(pair.edge_id, pair.learnt_at) for pair in old])
    learnt_at = min(seen[a], seen[b])
    nodes: list[tuple[int, str]] = []
    for name in (a, b):
        known = ends[name]
        if known is None:
            node = _entity(writer.new_id("nodes"), name, scope, learnt_at, parent)
            batch.nodes.append(node)
            known = (node.node_id, node.hash)
        nodes.append(known)
    payload = {"same": same, "by": "a person"}
    (src, src_hash), (dst, dst_hash) = nodes
    digest = edge_hash(SAME_AS, src_hash, dst_hash, payload)
    batch.edges.append(Edge(writer.new_id("edges"), scope, SAME_AS, src, dst, payload, digest, learnt_at=learnt_at))
    writer.commit(batch)


def _require_consistent(
    pair: tuple[str, str], same: bool, joined: list[tuple[str, str]], apart: list[tuple[str, str]]
) -> None:
    """Raises UsageError when a decision about a pair contradicts what else was decided."""
    a, b = pair
    classes = Classes(joined, ())
    if same:
        for x, y in apart:
            if {x, y} <= classes.of(a) | classes.of(b):
                raise UsageError(f"{a} and {b} cannot be one person while {x} and {y} are two; settle those first.")
    elif b in classes.of(a):
        through = ", ".join(sorted(classes.of(a) - {a, b}))
        raise UsageError(f"{a} and {b} are one person through {through}; settle that first.")
