"""Reads of one consistent state of a memory: nodes, edges, mentions, and the two searches."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
from numpy.typing import NDArray

from amr.records import Edge, Node
from amr.store import asked, text, vectors
from amr.store.chains import Chains
from amr.store.hashing import EMPTY_SUM, world_hash
from amr.store.haystacks import Haystacks
from amr.store.kept import Kept, remember
from amr.store.people import People
from amr.store.roster import Known, roster
from amr.store.rows import CallSum, ClipRow, Neighbour, ObservationRow, PassRow, SourceRow, View
from amr.store.schema import MEMORY_WORLD

_NODE_COLUMNS = (
    "node_id, kind, scope_id, source_id, pass_id, parent_id, clip_first, clip_last, t_start_ms, t_end_ms,"
    " time_ms, text, payload, hash, valid_from, valid_to, learnt_at, retired_at"
)
_EDGE_COLUMNS = "edge_id, scope_id, channel, src, dst, payload, hash, valid_from, valid_to, learnt_at, retired_at"
LIVE = "commit_id IS NOT NULL AND retired_at IS NULL AND withdrawn_commit IS NULL"

Ids = NDArray[np.int64]
T = TypeVar("T")


NOT_INDEXED = ("window", "session")
"""Kinds of node that are found by what they contain: the words of an exchange or a session are those of its turns."""


def indexed_text(node_text: str, payload: Mapping[str, Any]) -> str:
    """What the text index holds of a node: its text, and the dialogue, persons and objects it lacks."""
    if "speaker" in payload:
        return node_text  # a turn begins with the name of who says it
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


def _sees(view: View) -> tuple[str, list[Any]]:
    """The SQL condition, with its parameters, for the nodes that a question may see."""
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
    return " AND ".join(clauses), parameters


def _node(row: Sequence[Any]) -> Node:
    values = list(row)
    values[12] = json.loads(values[12])
    return Node(*values)


def _edge(row: Sequence[Any]) -> Edge:
    values = list(row)
    values[5] = json.loads(values[5])
    return Edge(*values)


def wearer_key(scope: str) -> str:
    """Where the memory's settings name who wears the camera in a scope, as a JSON list."""
    return f"wearer:{scope}"


class Snapshot:
    """One consistent state of a memory. Valid only inside `database.reading`."""

    kept: Kept | None = None
    """What the process keeps of the scope that is read; the rest comes from the database."""

    def __init__(self, connect: Callable[[], duckdb.DuckDBPyConnection], directory: Path) -> None:
        """`connect` gives the open database for one look-up, when something is asked that is not kept."""
        self._connect = connect
        self._directory = directory
        self._searchers: dict[str, text.Searcher] = {}
        self._sources: dict[str | None, list[SourceRow]] = {}
        self._handles: dict[tuple[str, str], dict[str, int]] = {}
        self._moments: dict[str, dict[str, NDArray[Any]]] = {}
        self._derived: dict[tuple[Any, ...], Any] = {}

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The open database, for one look-up; of this package only."""
        return self._connect()

    def _all(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        if self.kept is None:
            return self.connection.execute(query, list(values)).fetchall()
        key = repr((query, list(values)))
        if key not in self.kept.results:
            rows = self.connection.execute(query, list(values)).fetchall()
            remember(self.kept.results, key, rows)
            return rows
        return self.kept.results[key]

    def _keeps(self, view: View) -> Kept | None:
        return self.kept if self.kept is not None and self.kept.covers(view) else None

    @cached_property
    def chains(self) -> Chains:
        """Look-ups in the chains that channels follow."""
        return Chains(self._all)

    @property
    def haystacks(self) -> Haystacks:
        """Look-ups of chats."""
        return Haystacks(self._all, self.nodes)

    @cached_property
    def people(self) -> People:
        """Look-ups of who is who."""
        return People(self._all, visibility)

    def meta(self, key: str) -> str | None:
        """A value of the memory's own settings."""
        rows = self._all("SELECT value FROM meta WHERE key = ?", [key])
        return rows[0][0] if rows else None

    def wearer(self, scope: str) -> tuple[str, ...]:
        """The names of who wears the camera in a scope, as they were given or as the sources tell."""
        return tuple(json.loads(self.meta(wearer_key(scope)) or "[]"))

    def sources(self, scope: str | None = None) -> list[SourceRow]:
        """The sources of a scope, or all, in order of their ids."""
        if scope not in self._sources:
            where, values = ("WHERE scope_id = ?", [scope]) if scope is not None else ("", [])
            rows = self._all(f"SELECT * FROM sources {where} ORDER BY source_id", values)
            self._sources[scope] = [SourceRow(*row) for row in rows]
        return self._sources[scope]

    def passes(self, source_id: int) -> list[PassRow]:
        """The passes over a source, oldest first."""
        rows = self._all("SELECT * FROM passes WHERE source_id = ? ORDER BY pass_id", [source_id])
        return [PassRow(*row) for row in rows]

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

    def written_order(self, pass_id: int) -> list[int]:
        """The clips of a pass in the order in which they were written."""
        query = (
            "SELECT c.clip_index FROM clips c LEFT JOIN observations o USING (pass_id, clip_index)"
            " WHERE c.pass_id = ? ORDER BY o.commit_id NULLS LAST, c.t_start_ms, c.clip_index"
        )
        return [row[0] for row in self._all(query, [pass_id])]

    def observed(self, pass_id: int, clips: Sequence[int]) -> list[tuple[ClipRow, ObservationRow | None]]:
        """These clips of a pass, in the order given, with what was observed in each."""
        wanted = "pass_id = ? AND clip_index IN (SELECT unnest(?::BIGINT[]))"
        rows = [ClipRow(*row) for row in self._all(f"SELECT * FROM clips WHERE {wanted}", [pass_id, list(clips)])]
        found = self._all(f"SELECT * EXCLUDE commit_id FROM observations WHERE {wanted}", [pass_id, list(clips)])
        by_clip = {row.clip_index: row for row in rows}
        told = {row[1]: ObservationRow(*row) for row in found}
        return [(by_clip[clip], told.get(clip)) for clip in clips]

    def event_ids(self, pass_id: int) -> Ids:
        """The ids, ascending, of all events of a pass, retired ones included."""
        query = "SELECT node_id FROM nodes WHERE pass_id = ? AND kind = 'event' ORDER BY node_id"
        return np.asarray([row[0] for row in self._all(query, [pass_id])], dtype=np.int64)

    def visible(self, view: View) -> Ids:
        """The ids, int64 [n] ascending, of the nodes that a question may see."""
        kept = self._keeps(view)
        if kept is not None:
            return kept.visible(view)
        condition, values = _sees(view)
        query = f"SELECT node_id FROM nodes WHERE {condition} ORDER BY node_id"
        found = self.connection.execute(query, values).fetchnumpy()["node_id"]
        return np.asarray(found, dtype=np.int64)

    def nodes(self, ids: Sequence[int] | Ids) -> dict[int, Node]:
        """The nodes with these ids, live or not. They may be shared: nothing may be written into them."""
        known = self.kept.nodes(ids) if self.kept is not None else None
        if known is not None:
            return known
        if not len(ids):
            return {}
        wanted = [int(i) for i in ids]
        within = "node_id BETWEEN ? AND ? AND node_id IN (SELECT unnest(?::BIGINT[]))"
        rows = self._all(f"SELECT {_NODE_COLUMNS} FROM nodes WHERE {within}", [min(wanted), max(wanted), wanted])
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

    def neighbours(self, ids: Sequence[int], view: View) -> list[Neighbour]:
        """The visible edges that touch one of these nodes, without their payloads, in order of their ids."""
        kept = self._keeps(view)
        known = kept.neighbours(ids, view) if kept is not None else None
        if known is not None:
            return known
        condition, values = visibility(view)
        wanted = [int(i) for i in ids]
        ends = " UNION ".join(
            f"SELECT edge_id, channel, src, dst FROM edges WHERE scope_id = ? AND {condition}"
            f" AND {end} IN (SELECT unnest(?::BIGINT[]))"
            for end in ("src", "dst")
        )
        rows = self.connection.execute(f"{ends} ORDER BY 1", [view.scope, *values, wanted] * 2).fetchall()
        return [Neighbour(*row) for row in rows]

    def moments(self, ids: Ids, view: View) -> Ids:
        """When these nodes happened, in milliseconds on the clock of the sources, in the order of the ids [n]."""
        kept = self._keeps(view)
        if kept is not None:
            return kept.moments(ids)
        return np.asarray(self._column("at", ids, view), np.int64)

    def sources_of(self, ids: Ids, view: View) -> Ids:
        """The ids of the sources of these nodes, in their order [n]; some number for a node without one."""
        kept = self._keeps(view)
        return kept.sources_of(ids) if kept is not None else np.asarray(self._column("source", ids, view), np.int64)

    def _column(self, name: str, ids: Ids, view: View) -> NDArray[Any]:
        """What a column of the nodes of a scope, which are read once, has for these."""
        if view.scope not in self._moments:
            columns = "node_id, coalesce(time_ms, t_start_ms, 0) AS at, coalesce(source_id, -1) AS source"
            query = f"SELECT {columns} FROM nodes WHERE scope_id = ? ORDER BY 1"
            self._moments[view.scope] = self.connection.execute(query, [view.scope]).fetchnumpy()
        rows = self._moments[view.scope]
        return np.asarray(rows[name][np.searchsorted(rows["node_id"], ids)])

    def clip_uris(self, source_id: int, pass_id: int, indexes: Sequence[int]) -> dict[int, str]:
        """The files or addresses of some clips of a pass."""
        if self.kept is not None and (source_id, pass_id) in self.kept.clips:
            known = self.kept.clips[source_id, pass_id]
            return {index: known[index] for index in indexes if index in known}
        query = (
            "SELECT clip_index, uri FROM clips WHERE source_id = ? AND pass_id = ?"
            " AND clip_index IN (SELECT unnest(?::BIGINT[]))"
        )
        return dict(self._all(query, [source_id, pass_id, sorted(indexes)]))

    def mentioning(self, scope: str, handles: Sequence[str], role: str | None = None) -> Ids:
        """The ids, ascending, of nodes that mention any of the handles (live or not: intersect with visible)."""
        if self.kept is not None and self.kept.scope == scope:
            return self.kept.mentioning(handles, role)
        query = (
            "SELECT DISTINCT node_id FROM mentions WHERE scope_id = ? AND list_contains(?, handle)"
            " AND (?::VARCHAR IS NULL OR role = ?) ORDER BY node_id"
        )
        rows = self.connection.execute(query, [scope, list(handles), role, role]).fetchnumpy()["node_id"]
        return np.asarray(rows, dtype=np.int64)

    def last_mentions(self, view: View, handles: Sequence[str], role: str, limit: int) -> list[Node]:
        """The visible nodes that mention any of the handles in a role, the latest first, at most `limit` of them."""
        ids = self.mentioning(view.scope, handles, role)
        ids = ids[vectors.inside(self.visible(view), ids)]
        latest = ids[np.lexsort((ids, self.moments(ids, view)))[::-1][:limit]]
        nodes = self.nodes(latest)
        return [nodes[int(node_id)] for node_id in latest]

    def roster(self, view: View, role: str) -> list[Known]:
        """Every handle of a role in what a view sees, the most often mentioned first."""
        return roster(self._all, view.scope, role, *_sees(view))

    def handles(self, scope: str, role: str) -> dict[str, int]:
        """Every handle of a role in a scope with how many nodes mention it."""
        if self.kept is not None and self.kept.scope == scope:
            return self.kept.handles(role)
        if (scope, role) not in self._handles:
            query = "SELECT handle, count(*) FROM mentions WHERE scope_id = ? AND role = ? GROUP BY handle ORDER BY 1"
            self._handles[scope, role] = dict(self._all(query, [scope, role]))
        return self._handles[scope, role]

    def search_text(self, scope: str, query: str, ids: Ids, k: int) -> list[tuple[int, float]]:
        """The `k` best of `ids` by BM25 as (node id, score), best first; rows of no shared word are absent."""
        if not len(ids):
            return []
        return self._searcher(scope).search(query, min(k, len(ids)), lambda found: vectors.inside(ids, found))

    def _searcher(self, scope: str) -> text.Searcher:
        if self.kept is not None and self.kept.scope == scope and self.kept.searcher is not None:
            return self.kept.searcher
        if scope not in self._searchers:
            self._searchers[scope] = text.Searcher(text.text_directory(self._directory, scope))
        return self._searchers[scope]

    def vectors(self, ids: Ids, lane: str = "text") -> tuple[Ids, NDArray[np.float32]]:
        """The vectors of these nodes: their ids [n] ascending, and float32 [n, d]."""
        return vectors.read(self.connection, ids, lane)

    def latest_with(self, scope: str, query: str, ids: Ids, k: int) -> Ids:
        """Those of `ids` among the last `k` nodes that share a word with the query, ascending."""
        if not len(ids):
            return ids
        rows = self._searcher(scope).latest(query, int(ids[-1]), k)
        return rows[vectors.inside(ids, rows)]

    def cosines(self, ids: Ids, query: NDArray[np.float32]) -> NDArray[np.float64]:
        """The cosine of `query` [d] with the text vector of each of these nodes [n]; 0 where there is none."""
        if self.kept is not None and (known := self.kept.cosines(ids, query)) is not None:
            return known
        rows = "SELECT node_id, v FROM vectors WHERE lane = 'text' AND node_id IN (SELECT unnest(?::BIGINT[]))"
        if not len(ids):
            return np.zeros(0)
        stored = dict(self.connection.execute(rows, [ids.tolist()]).fetchall())
        none = np.zeros(len(query), np.float32)
        matrix = np.array([stored.get(node_id, none) for node_id in ids.tolist()], np.float32).reshape(len(ids), -1)
        return np.asarray(np.round((matrix @ query).astype(np.float64), 4), np.float64)

    def having(self, scope: str, term: str) -> tuple[Ids, NDArray[np.float64]]:
        """The rows of a scope's text index that have a stem, ids ascending, live or not, and how far it fills each."""
        return self._searcher(scope).having(term)

    def chat_turns(self, view: View) -> dict[str, NDArray[Any]]:
        """The visible turns of chats, session after session, in columns.

        `node_id`, `session` (0, 1, … by when it was ingested), `speaker` (handles), `time_ms` (NaN where no clock is
        known), `text` with its `length` in characters, and the `caption` of the picture that goes with it, or None.
        """
        view = replace(view, kinds=("turn",))
        condition, values = _sees(view)
        query = (
            "SELECT node_id, source_id, clip_first, payload->>'$.speaker' AS speaker,"
            " CASE WHEN payload->>'$.undated' IS NULL THEN time_ms END AS time_ms, text, length(text) AS length,"
            " payload->>'$.caption' AS caption"
            f" FROM nodes WHERE {condition}"
            " ORDER BY source_id, clip_first, (payload->>'$.n')::BIGINT, node_id"
        )
        rows = self.connection.execute(query, values).fetchnumpy()
        captions = np.ma.asarray(rows["caption"], np.object_)
        place = rows["source_id"].astype(np.int64) << 32 | rows["clip_first"].astype(np.int64)
        begins = np.diff(place, prepend=place[:1]) != 0
        return {
            "node_id": rows["node_id"].astype(np.int64),
            "session": np.cumsum(begins),
            "speaker": np.asarray(rows["speaker"], dtype=np.str_),
            "time_ms": np.ma.filled(np.ma.asarray(rows["time_ms"], np.float64), np.nan),
            "text": np.asarray(rows["text"], np.object_),
            "length": rows["length"].astype(np.float64),
            "caption": np.where(np.ma.getmaskarray(captions), np.array(None), np.ma.getdata(captions)),
        }

    def sessions_of(self, turns: Ids) -> dict[int, int]:
        """The session that each of some turns is in, by node id."""
        query = (
            "SELECT turn.node_id, exchange.parent_id FROM nodes turn JOIN nodes exchange"
            " ON turn.parent_id = exchange.node_id WHERE turn.node_id IN (SELECT unnest(?::BIGINT[]))"
        )
        return dict(self._all(query, [turns.tolist()]))

    def derived(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """What is made from this state of the memory and asked for again and again; made once where it can be kept."""
        if self.kept is not None:
            found: T = self.kept.derived(key, make)
            return found
        if key not in self._derived:
            self._derived[key] = make()
        made: T = self._derived[key]
        return made

    def search_vectors(self, scope: str, query: NDArray[np.float32], ids: Ids, k: int) -> list[tuple[int, float]]:
        """The `k` of `ids` whose text vectors are nearest to `query` [d] as (node id, cosine), best first."""
        if self.kept is not None and self.kept.scope == scope:
            known = self.kept.search_vectors(query, ids, k)
            if known is not None:
                return known
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
            " WHERE p.state IN ('live', 'staged') GROUP BY ALL ORDER BY ALL"
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
        """What was called for what so far, by role and model; what was asked since the last writer included."""
        noted = asked.noted(self._directory)
        query = (
            "WITH noted AS (SELECT unnest(?::VARCHAR[]) AS key, unnest(?::VARCHAR[]) AS role, unnest(?::VARCHAR[]) AS"
            " model, unnest(?::BIGINT[]) AS prompt_tokens, unnest(?::BIGINT[]) AS completion_tokens,"
            " unnest(?::DOUBLE[]) AS cost_usd, unnest(?::BOOLEAN[]) AS cached, unnest(?::BIGINT[]) AS wall_ms),"
            " every AS (SELECT role, model, prompt_tokens, completion_tokens, cost_usd, cached FROM calls UNION ALL"
            " SELECT role, model, prompt_tokens, completion_tokens, cost_usd, cached FROM noted WHERE cached OR NOT"
            " EXISTS (SELECT 1 FROM calls old WHERE old.key = noted.key AND old.wall_ms = noted.wall_ms AND NOT"
            " old.cached))"
            " SELECT role, model, count(*) FILTER (NOT cached), count(*) FILTER (cached),"
            " coalesce(sum(prompt_tokens) FILTER (NOT cached), 0),"
            " coalesce(sum(completion_tokens) FILTER (NOT cached), 0), coalesce(sum(cost_usd), 0)"
            " FROM every GROUP BY role, model ORDER BY role, model"
        )
        names = ("key", "role", "model", "prompt_tokens", "completion_tokens", "cost_usd", "cached", "wall_ms")
        return [CallSum(*row) for row in self._all(query, [[getattr(row, name) for row in noted] for name in names])]
