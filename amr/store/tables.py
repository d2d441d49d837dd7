"""Rows as Arrow tables, the way they go into the database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from amr.records import Edge, Mention, Node
from amr.store.hashing import canonical_json
from amr.store.rows import Batch, ReadyRows

_INT = pa.int64()
_TEXT = pa.string()
_TYPES = {
    "sources": [_INT, _TEXT, _TEXT, _TEXT, _TEXT, _TEXT, _INT, _INT, pa.bool_()],
    "passes": [_INT, _INT, _TEXT, _TEXT, _INT, _TEXT],
    "clips": [_INT, _INT, _INT, _INT, _INT, _TEXT, _TEXT, _TEXT],
    "observations": [_INT, _INT, _INT, _TEXT, _TEXT, _TEXT, _TEXT, pa.float64(), _INT],
    "nodes": [
        *[_INT, _TEXT, _TEXT, _INT, _INT, _INT, _INT, _INT, _INT, _INT, _INT, _TEXT, _TEXT, _TEXT],
        *[_INT] * 7,
    ],
    "edges": [_INT, _TEXT, _TEXT, _INT, _INT, _TEXT, _TEXT, *[_INT] * 7],
    "mentions": [_INT, _TEXT, _TEXT, _TEXT, *[_INT] * 6],
    "vectors": [_INT, _TEXT, pa.list_(pa.float32())],
    "worlds": [_INT, _TEXT, _INT],
    "calls": [*[_TEXT] * 5, _INT, _INT, pa.float64(), pa.float64(), pa.bool_(), _TEXT, _INT],
}


Tables = list[tuple[str, pa.Table]]
"""What goes into which table."""


def tables_of(batch: Batch, commit_id: int, staged: bool) -> Tables:
    """All rows of a batch; those of a `staged` pass belong to no commit yet."""
    rows = [(table, arrow(table, rows)) for table, rows in _tables(batch, commit_id, staged) if rows]
    return rows + _ready_tables(batch.ready, commit_id)


def insert(connection: duckdb.DuckDBPyConnection, tables: Tables) -> None:
    """Adds the rows to their tables."""
    for table, arrow in tables:
        connection.register("incoming", arrow)
        connection.execute(f"INSERT INTO {table} SELECT * FROM incoming")
        connection.unregister("incoming")


def _tables(batch: Batch, commit_id: int, staged: bool) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    seen = None if staged else commit_id
    yield "sources", [tuple(vars(row).values()) for row in batch.sources]
    yield "passes", [tuple(vars(row).values()) for row in batch.passes]
    yield "clips", [tuple(vars(row).values()) for row in batch.clips]
    yield "observations", [(*vars(row).values(), commit_id) for row in batch.observations]
    yield "nodes", [_node_row(node, seen, commit_id) for node in batch.nodes]
    yield "edges", [_edge_row(edge, seen, commit_id) for edge in batch.edges]
    yield "mentions", [_mention_row(mention, seen) for mention in batch.mentions]
    yield "vectors", list(batch.vectors)


def _node_row(n: Node, seen: int | None, commit_id: int) -> tuple[Any, ...]:
    retired_commit = None if n.retired_at is None else commit_id
    return (
        *(n.node_id, n.kind, n.scope_id, n.source_id, n.pass_id, n.parent_id, n.clip_first, n.clip_last),
        *(n.t_start_ms, n.t_end_ms, n.time_ms, n.text, canonical_json(n.payload), n.hash),
        *(n.valid_from, n.valid_to, n.learnt_at, n.retired_at, seen, retired_commit, None),
    )


def _edge_row(e: Edge, seen: int | None, commit_id: int) -> tuple[Any, ...]:
    retired_commit = None if e.retired_at is None else commit_id
    return (
        *(e.edge_id, e.scope_id, e.channel, e.src, e.dst, canonical_json(e.payload), e.hash),
        *(e.valid_from, e.valid_to, e.learnt_at, e.retired_at, seen, retired_commit, None),
    )


def _mention_row(m: Mention, commit_id: int | None) -> tuple[Any, ...]:
    return (m.node_id, m.scope_id, m.handle, m.role, m.t_start_ms, m.learnt_at, None, commit_id, None, None)


def arrow(table: str, rows: list[tuple[Any, ...]]) -> pa.Table:
    """Rows of a table, each with all its columns in order."""
    if table == "vectors":
        return _vectors_arrow(rows)
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, type=kind) for column, kind in zip(columns, _TYPES[table], strict=True)]
    return pa.table(arrays, names=[f"c{i}" for i in range(len(arrays))])


def _vectors_arrow(rows: list[tuple[Any, ...]]) -> pa.Table:
    """The rows of `vectors`; their numbers are copied once."""
    ids, lanes, found = zip(*rows, strict=True)
    ends = np.cumsum([0, *map(len, found)], dtype=np.int32)
    values = pa.array(np.concatenate(found).astype(np.float32, copy=False))
    arrays = [pa.array(ids, _INT), pa.array(lanes, _TEXT), pa.ListArray.from_arrays(pa.array(ends), values)]
    return pa.table(arrays, names=["c0", "c1", "c2"])


def _ready_tables(ready: ReadyRows, commit_id: int) -> Tables:
    """The rows that are made as they are stored, with what all of a commit have in common."""
    tables = []
    for table, rows in (("nodes", ready.nodes), ("edges", ready.edges), ("mentions", ready.mentions)):
        if rows:
            *own, learnt = zip(*rows, strict=True)
            count, kinds = len(rows), _TYPES[table]
            none, commit = pa.nulls(count, _INT), pa.repeat(pa.scalar(commit_id, _INT), count)
            arrays = [pa.array(column, type=kind) for column, kind in zip(own, kinds, strict=False)]
            arrays += [] if table == "mentions" else [none, none]  # valid_from, valid_to
            arrays += [pa.array(learnt, _INT), none, commit, none, none]
            tables.append((table, pa.table(arrays, names=[f"c{i}" for i in range(len(arrays))])))
    return tables
