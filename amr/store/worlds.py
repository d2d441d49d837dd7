"""The sums of worlds: what each contains, adjusted for every ancestor of what comes and goes (design §4)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import duckdb

from amr.store.hashing import EMPTY_SUM, add_to_sum, world_hash
from amr.store.rows import Batch
from amr.store.schema import MEMORY_WORLD
from amr.store.tables import arrow, insert

Change = tuple[int, int, int]
"""A world's id, what to add to its sum, and how many children it gains."""


Parents = dict[int, int | None]
"""The world that contains each node, None for a scope."""


class Gains:
    """What a batch adds to every world above its nodes and edges."""

    def __init__(self, batch: Batch) -> None:
        self._nodes = [(node.parent_id, node.hash) for node in batch.nodes if node.retired_at is None]
        self._nodes += [(row.parent_id, row.hash) for row in batch.ready.nodes]
        self._edges = [(edge.src, edge.dst, edge.hash) for edge in batch.edges if edge.retired_at is None]
        self._edges += [(row.src, row.dst, row.hash) for row in batch.ready.edges]
        self._parents: Parents = {node.node_id: node.parent_id for node in batch.nodes}
        self._parents.update((row.node_id, row.parent_id) for row in batch.ready.nodes)
        ends = {end for src, dst, _ in self._edges for end in (src, dst)}
        self._missing = ({p for p in self._parents.values() if p is not None} | ends) - self._parents.keys()
        self._changes = None if self._missing else self._counted()

    def changes(self, connection: duckdb.DuckDBPyConnection) -> list[Change]:
        """The changes, which are counted already where the batch knows all the worlds that it is about."""
        if self._changes is None:
            load_parents(connection, self._parents, self._missing)
            self._changes = self._counted()
        return self._changes

    def _counted(self) -> list[Change]:
        sums: dict[int | None, int] = defaultdict(int)
        children: Counter[int | None] = Counter()
        for above, digest in self._nodes:
            sums[above] += int(digest, 16)
            children[above] += 1
        for src, dst, digest in self._edges:
            sums[_lowest(self._parents, src, dst)] += int(digest, 16)
        return [
            (world, total, children[above])
            for above, total in sums.items()
            for world in ([MEMORY_WORLD] if above is None else ancestors(self._parents, above))
        ]


def _lowest(parents: Parents, src: int, dst: int) -> int | None:
    """The smallest world that contains both ends of an edge, which may be an end itself; None for the memory."""
    if parents[dst] == src:
        return src
    if parents[src] == parents[dst] and src != dst:
        return parents[src]
    lowest = shared(parents, src, dst)[0]
    return None if lowest == MEMORY_WORLD else lowest


def load_parents(connection: duckdb.DuckDBPyConnection, parents: Parents, wanted: set[int]) -> None:
    """Adds to `parents` the worlds around these nodes, and around those, as they are stored."""
    while missing := sorted(wanted - parents.keys()):
        rows = connection.execute(
            "SELECT node_id, parent_id FROM nodes WHERE node_id IN (SELECT unnest(?::BIGINT[]))", [missing]
        ).fetchall()
        parents.update(rows)
        wanted = {parent for _, parent in rows if parent is not None}


def ancestors(parents: Parents, node_id: int) -> list[int]:
    """The node itself, then each world that contains it, up to the memory."""
    chain, at = [node_id], parents[node_id]
    while at is not None:
        chain.append(at)
        at = parents[at]
    return [*chain, MEMORY_WORLD]


def shared(parents: Parents, src: int, dst: int) -> list[int]:
    """The worlds that contain both ends of an edge; an end may be such a world itself."""
    around = set(ancestors(parents, dst))
    return [world for world in ancestors(parents, src) if world in around]


def adjust_worlds(connection: duckdb.DuckDBPyConnection, changes: Iterable[Change]) -> str:
    """Adds the changes to the worlds' sums; returns the memory's root hash."""
    totals: dict[int, tuple[int, int]] = {MEMORY_WORLD: (0, 0)}
    for world, added, children in changes:
        old = totals.get(world, (0, 0))
        totals[world] = (old[0] + added, old[1] + children)
    stored = connection.execute(
        "SELECT node_id, sum, children FROM worlds WHERE node_id IN (SELECT unnest(?::BIGINT[]))",
        [sorted(totals)],
    ).fetchall()
    known = {row[0]: (row[1], row[2]) for row in stored}
    there: list[tuple[int, str, int]] = []
    fresh: list[tuple[int, str, int]] = []
    root = EMPTY_SUM
    for world, (added, more) in sorted(totals.items()):
        total, children = known.get(world, (EMPTY_SUM, 0))
        row = (world, add_to_sum(total, added), children + more)
        (there if world in known else fresh).append(row)
        root = row[1] if world == MEMORY_WORLD else root
    if there:
        connection.register("incoming", arrow("worlds", there))
        connection.execute("UPDATE worlds SET sum = c1, children = c2 FROM incoming WHERE node_id = c0")
        connection.unregister("incoming")
    if fresh:
        insert(connection, [("worlds", arrow("worlds", fresh))])
    return world_hash("memory", root)
