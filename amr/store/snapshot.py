"""Reads of one consistent state of a memory: nodes, edges, mentions, and the two searches."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from amr.records import Edge, Node
from amr.store import text, vectors
from amr.store.hashing import EMPTY_SUM, world_hash
from amr.store.rows import CallSum, PassRow, SourceRow, View
from amr.store.schema import MEMORY_WORLD

_NODE_COLUMNS = (
    "node_id, kind, scope_id, source_id, pass_id, parent_id, clip_first, clip_last, t_start_ms, t_end_ms,"
    " time_ms, text, payload, hash, valid_from, valid_to, learnt_at, retired_at"
)
_EDGE_COLUMNS = "edge_id, scope_id, channel, src, dst, payload, hash, valid_from, valid_to, learnt_at, retired_at"
LIVE = "commit_id IS NOT NULL AND retired_at IS NULL AND withdrawn_commit IS NULL"

Ids = NDArray[np.int64]


def indexed_text(node_text: str, payload: Mapping[str, Any]) -> str:
    """What the text index holds of a node: its text, and the dialogue, persons and objects it lacks."""
    more = [*payload.get("dialogue", []), *payload.get("persons", []), *payload.get("objects", [])]
    known = node_text.lower()
    # As the payload is stored, so that an index made again from the database is the same.
    words = [unicodedata.normalize("NFC", str(item)).replace("_", " ") for item in more]
    return " ".join([node_text, *(item for item in words if item.lower() not in known)])


def visibility(view: View) -> tuple[str, list[Any]]:
    """The SQL condition, with its parameters, for rows that the view may see by the three clocks."""
    clauses, values = ["commit_id IS NOT NULL"], list[Any]()
    if view.known_at is None:
        clauses.append("withdrawn_commit IS NULL")
    else:
        clauses.append("commit_id <= ? AND (withdrawn_commit IS NULL OR withdrawn_commit > ?)")
        values += [view.known_at, view.known_at]
    standing = ["retired_at IS NULL"]
    standing_values: list[Any] = []
    if view.known_at is not None:
        standing.append("retired_commit > ?")
        standing_values.append(view.known_at)
    if view.as_of is not None:
        clauses.append("learnt_at <= ?")
        values.append(view.as_of)
        standing.append("retired_at > ?")
        standing_values.append(view.as_of)
    clauses.append(f"({' OR '.join(standing)})")
    return " AND ".join(clauses), values + standing_values


def _node(row: Sequence[Any]) -> Node:
    values = list(row)
    values[12] = json.loads(values[12])
    return Node(*values)


def _edge(row: Sequence[Any]) -> Edge:
    values = list(row)
    values[5] = json.loads(values[5])
    return Edge(*values)


class Snapshot:
    """One consistent state of a memory. Valid only inside `database.reading`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, directory: Path) -> None:
        self._connection = connection
        self._directory = directory

    def _all(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(query, list(values)).fetchall()

    def meta(self, key: str) -> str | None:
        """A value of the memory's own settings."""
        rows = self._all("SELECT value FROM meta WHERE key = ?", [key])
        return rows[0][0] if rows else None

    def sources(self, scope: str | None = None) -> list[SourceRow]:
        """The sources of a scope, or all, in order of their ids."""
        where, values = ("WHERE scope_id = ?", [scope]) if scope is not None else ("", [])
        return [SourceRow(*row) for row in self._all(f"SELECT * FROM sources {where} ORDER BY source_id", values)]

    def passes(self, source_id: int) -> list[PassRow]:
        """The passes over a source, oldest first."""
        rows = self._all("SELECT * FROM passes WHERE source_id = ? ORDER BY pass_id", [source_id])
        return [PassRow(*row) for row in rows]

    def around(self, source_id: int, pass_id: int, first: tuple[int, int], last: tuple[int, int]) -> list[Node]:
        """The events of a pass between two (start, clip) places in time, with the one before and the one after.

        Includes those of a staged pass; in order of (start, clip, node id).
        """
        inside = (
            f"SELECT {_NODE_COLUMNS} FROM nodes WHERE source_id = ? AND pass_id = ? AND kind = 'event'"
            " AND retired_at IS NULL AND withdrawn_commit IS NULL"
        )
        earlier = "(t_start_ms < ? OR (t_start_ms = ? AND clip_first < ?))"
        later = "(t_start_ms > ? OR (t_start_ms = ? AND clip_first > ?))"
        order = "t_start_ms {0}, clip_first {0}, node_id {0}"
        query = (
            f"(({inside} AND {earlier} ORDER BY {order.format('DESC')} LIMIT 1)"
            f" UNION ALL ({inside} AND NOT {earlier} AND NOT {later})"
            f" UNION ALL ({inside} AND {later} ORDER BY {order.format('ASC')} LIMIT 1))"
            f" ORDER BY {order.format('ASC')}"
        )
        before = [first[0], *first]
        after = [last[0], *last]
        mine = [source_id, pass_id]
        return [_node(row) for row in self._all(query, [*mine, *before, *mine, *before, *after, *mine, *after])]

    def edge_ids(self, channel: str, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
        """The ids of the standing edges of a channel between these (src, dst) pairs."""
        sources = [src for src, _ in pairs]
        query = (
            "SELECT src, dst, edge_id FROM edges WHERE channel = ? AND src IN (SELECT unnest(?::BIGINT[]))"
            " AND retired_at IS NULL AND withdrawn_commit IS NULL"
        )
        wanted = set(pairs)
        return {(row[0], row[1]): row[2] for row in self._all(query, [channel, sources]) if (row[0], row[1]) in wanted}

    def world_node(self, scope: str, source_id: int | None) -> int | None:
        """The id of a scope's node, or of a source's when one is given."""
        kind = "scope" if source_id is None else "source"
        query = (
            "SELECT node_id FROM nodes WHERE scope_id = ? AND kind = ? AND source_id IS NOT DISTINCT FROM ?"
            " AND withdrawn_commit IS NULL"
        )
        rows = self._all(query, [scope, kind, source_id])
        return rows[0][0] if rows else None

    def last_events(self, source_id: int, pass_id: int, count: int) -> list[Node]:
        """The events of a pass that start last, staged or not, the last one first."""
        query = (
            f"SELECT {_NODE_COLUMNS} FROM nodes WHERE source_id = ? AND pass_id = ? AND kind = 'event' AND"
            " retired_at IS NULL AND withdrawn_commit IS NULL"
            " ORDER BY t_start_ms DESC, clip_first DESC, node_id DESC LIMIT ?"
        )
        return [_node(row) for row in self._all(query, [source_id, pass_id, count])]

    def clips(self, source_id: int, pass_id: int) -> dict[int, tuple[str, str, int, int]]:
        """Of each clip of a pass: state, file or address, start and end in milliseconds."""
        query = "SELECT clip_index, state, uri, t_start_ms, t_end_ms FROM clips WHERE source_id = ? AND pass_id = ?"
        return {row[0]: (row[1], row[2], row[3], row[4]) for row in self._all(query, [source_id, pass_id])}

    def clip_files(self, source_id: int) -> dict[str, int]:
        """The index that each clip file of a source was given, by any pass."""
        return dict(self._all("SELECT DISTINCT uri, clip_index FROM clips WHERE source_id = ? ORDER BY 2", [source_id]))

    def visible(self, view: View) -> Ids:
        """The ids, int64 [n] ascending, of the nodes that a question may see."""
        condition, values = visibility(view)
        clauses = ["scope_id = ?", "list_contains(?, kind)", condition]
        parameters: list[Any] = [view.scope, list(view.kinds), *values]
        if view.as_of is not None:
            clauses.append("coalesce(valid_from, ?) <= ? AND coalesce(valid_to, ?) > ?")
            parameters += [view.as_of, view.as_of, view.as_of + 1, view.as_of]
        if view.source_id is not None:
            clauses.append("source_id = ?")
            parameters.append(view.source_id)
        if view.from_ms is not None:
            clauses.append("coalesce(time_ms, t_start_ms) >= ?")
            parameters.append(view.from_ms)
        if view.to_ms is not None:
            clauses.append("coalesce(time_ms, t_start_ms) <= ?")
            parameters.append(view.to_ms)
        query = f"SELECT node_id FROM nodes WHERE {' AND '.join(clauses)} ORDER BY node_id"
        found = self._connection.execute(query, parameters).fetchnumpy()["node_id"]
        return np.asarray(found, dtype=np.int64)

    def nodes(self, ids: Sequence[int] | Ids) -> dict[int, Node]:
        """The nodes with these ids, live or not."""
        query = f"SELECT {_NODE_COLUMNS} FROM nodes WHERE node_id IN (SELECT unnest(?::BIGINT[]))"
        rows = self._all(query, [[int(i) for i in ids]])
        return {row[0]: _node(row) for row in rows}

    def edges(self, ids: Sequence[int], view: View, channel: str | None = None) -> list[Edge]:
        """The visible edges that touch one of these nodes, in order of their ids."""
        condition, values = visibility(view)
        wanted = [int(i) for i in ids]
        query = (
            f"SELECT {_EDGE_COLUMNS} FROM edges WHERE scope_id = ? AND {condition} AND (?::VARCHAR IS NULL OR"
            " channel = ?) AND (src IN (SELECT unnest(?::BIGINT[])) OR dst IN (SELECT unnest(?::BIGINT[])))"
            " ORDER BY edge_id"
        )
        rows = self._all(query, [view.scope, *values, channel, channel, wanted, wanted])
        return [_edge(row) for row in rows]

    def mentioning(self, scope: str, handles: Sequence[str], role: str | None = None) -> Ids:
        """The ids, ascending, of nodes that mention any of the handles (live or not: intersect with visible)."""
        query = (
            "SELECT DISTINCT node_id FROM mentions WHERE scope_id = ? AND list_contains(?, handle)"
            " AND (?::VARCHAR IS NULL OR role = ?) ORDER BY node_id"
        )
        rows = self._connection.execute(query, [scope, list(handles), role, role]).fetchnumpy()["node_id"]
        return np.asarray(rows, dtype=np.int64)

    def handles(self, scope: str, role: str) -> dict[str, int]:
        """Every handle of a role in a scope with how many nodes mention it."""
        query = "SELECT handle, count(*) FROM mentions WHERE scope_id = ? AND role = ? GROUP BY handle ORDER BY 1"
        return {row[0]: row[1] for row in self._all(query, [scope, role])}

    def search_text(self, scope: str, query: str, ids: Ids, k: int) -> list[tuple[int, float]]:
        """The `k` best of `ids` by BM25 as (node id, score), best first; rows of no shared word are absent."""
        folder = text.text_directory(self._directory, scope)
        if not len(ids):
            return []
        return text.search(folder, query, k, lambda found: np.isin(found, ids).tolist())

    def vectors(self, ids: Ids, lane: str = "text") -> tuple[Ids, NDArray[np.float32]]:
        """The vectors of these nodes: their ids [n] ascending, and float32 [n, d]."""
        rows = "FROM vectors WHERE lane = ? AND node_id BETWEEN ? AND ? ORDER BY node_id"
        parameters = [lane, int(ids[0]), int(ids[-1])] if len(ids) else [lane, 0, -1]
        found = self._connection.execute(f"SELECT node_id {rows}", parameters).fetchnumpy()["node_id"]
        # As numbers in one row after another: Arrow would be as fast, but takes 0.06 s to import.
        flat = self._connection.execute(f"SELECT unnest(v) AS v FROM (SELECT v {rows})", parameters).fetchnumpy()["v"]
        matrix = flat.reshape(len(found), -1) if len(found) else np.zeros((0, 0), np.float32)
        if len(found) == len(ids) and np.array_equal(found, ids):
            return found, matrix
        kept = np.isin(found, ids, assume_unique=True)
        return found[kept], matrix[kept]

    def search_vectors(self, scope: str, query: NDArray[np.float32], ids: Ids, k: int) -> list[tuple[int, float]]:
        """The `k` of `ids` whose text vectors are nearest to `query` [d] as (node id, cosine), best first."""
        if len(ids) <= vectors.EXACT_ROWS:
            return vectors.exact(*self.vectors(ids), query, k)
        file = vectors.index_file(self._directory, scope)
        folded = vectors.folded_through(file)
        # The writer may fold more rows meanwhile; those are in the tail.
        found = vectors.approximate(file, query, k, ids[ids <= folded]) if folded >= 0 else None
        if found is None:
            return vectors.exact(*self.vectors(ids), query, k)
        tail = vectors.exact(*self.vectors(ids[ids > folded]), query, k)
        return sorted(found + tail, key=lambda row: (-row[1], row[0]))[:k]

    def counts(self) -> tuple[dict[str, int], dict[str, int]]:
        """How many live nodes of each kind and edges of each channel there are."""
        nodes = self._all(f"SELECT kind, count(*) FROM nodes WHERE {LIVE} GROUP BY kind ORDER BY kind")
        edges = self._all(f"SELECT channel, count(*) FROM edges WHERE {LIVE} GROUP BY channel ORDER BY channel")
        return dict(nodes), dict(edges)

    def clip_counts(self) -> dict[int, dict[str, int]]:
        """Of each source, how many clips of its current passes are in which state."""
        query = (
            "SELECT source_id, c.state, count(*) FROM clips c JOIN passes p USING (source_id, pass_id)"
            " WHERE p.state <> 'replaced' GROUP BY ALL ORDER BY ALL"
        )
        counts: dict[int, dict[str, int]] = {}
        for source_id, state, number in self._all(query):
            counts.setdefault(source_id, {})[state] = number
        return counts

    def root_hash(self) -> str:
        """The hash of everything that is live in the memory (design §4)."""
        rows = self._all("SELECT sum FROM worlds WHERE node_id = ?", [MEMORY_WORLD])
        return world_hash("memory", rows[0][0] if rows else EMPTY_SUM)

    def commits(self) -> int:
        """How many commits the memory has had."""
        return int(self._all("SELECT count(*) FROM commits")[0][0])

    def last_commit_before(self, wall_ms: int) -> int:
        """The last commit made at or before a wall-clock time, -1 when there is none."""
        found = self._all("SELECT max(commit_id) FROM commits WHERE wall_ms <= ?", [wall_ms])[0][0]
        return -1 if found is None else int(found)

    def costs(self) -> list[CallSum]:
        """What was called for what so far, by role and model."""
        query = (
            "SELECT role, model, count(*) FILTER (NOT cached), count(*) FILTER (cached),"
            " coalesce(sum(prompt_tokens) FILTER (NOT cached), 0),"
            " coalesce(sum(completion_tokens) FILTER (NOT cached), 0), coalesce(sum(cost_usd), 0)"
            " FROM calls GROUP BY role, model ORDER BY role, model"
        )
        return [CallSum(*row) for row in self._all(query)]
