"""What a process that asks again and again keeps of a scope, so that a hot question opens no database.

Everything here is derived from one state of the files, named by their signature, and dropped when that changes.
A process that asks once builds none of it: the columns are read when a second question meets the same state, part
by part, those that take long in passes through the gate of their own.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from amr.records import Node
from amr.store import text, vectors
from amr.store.rows import Neighbour, View

Ids = NDArray[np.int64]
Columns = dict[str, NDArray[Any]]
Signature = tuple[tuple[int, int, int] | None, ...]

MOST_ROWS = 200_000
"""Of a larger scope the texts and the edges are read from the database: they would take more than some 300 MB."""

_FOREVER = 2**62
_UNKNOWN = -(2**62)
_NODES = 20_000
_RESULTS = 2_000
_VIEWS = 8
_DERIVED = 3
_SCOPES = 4
_CHUNK = 15_000


def signature(directory: Path, scope: str) -> Signature:
    """What tells one committed state of a memory from another; the caller is inside the gate.

    Every commit makes the write-ahead log longer or the database another, so no file needs to be opened for it.
    """
    files = ("memory.duckdb", "memory.duckdb.wal")
    note = text.text_directory(directory, scope) / "indexed-through"
    return tuple(_mark(file) for file in (*(directory / name for name in files), note))


def _mark(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


class Kept:
    """The columns of one scope in one state. `load` fills a part; a part that is not loaded is None."""

    def __init__(self, directory: Path, scope: str, state: Signature) -> None:
        self.directory, self.scope, self.state = directory, scope, state
        self.results: OrderedDict[str, list[tuple[Any, ...]]] = OrderedDict()
        self._counts: dict[str, dict[str, int]] = {}
        self._derived: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self._seen: OrderedDict[View, Ids] = OrderedDict()
        self._parsed: OrderedDict[int, Node] = OrderedDict()
        self._columns: Columns = {}
        self._strings: dict[str, list[Any]] = {"text": [], "payload": [], "hash": []}
        self._edges: Columns = {}
        self._mentions: dict[str, dict[str, Ids]] = {}
        self.clips: dict[tuple[int, int], dict[int, str]] = {}
        self.searcher: text.Searcher | None = None
        self._vectors: vectors.Kept | None = None
        self._loaded: set[str] = set()
        self.loading = Lock()

    @property
    def rows(self) -> int:
        """How many nodes are kept."""
        return len(self._columns.get("node_id", ()))

    def missing(self) -> list[str]:
        """The names of the parts that are still to be loaded, in order; each takes some 0.1 s at the most."""
        if not self._columns:
            return ["nodes"]
        rows = len(self._columns["node_id"])
        big = ["edges"] if rows <= MOST_ROWS else []
        big += [f"{part} {at}" for part in ("texts", "vectors") for at in range(0, rows, _CHUNK) if rows <= MOST_ROWS]
        return [part for part in ("mentions", "clips", "index", *big) if part not in self._loaded]

    def load(self, part: str, connection: duckdb.DuckDBPyConnection) -> None:
        """Reads one part; the caller is inside the gate and has seen that the state is still the same."""
        name, _, first = part.partition(" ")
        if name == "nodes":
            self._columns = _node_columns(connection, self.scope)
        elif name == "edges":
            self._edges = _edge_columns(connection, self.scope)
        elif name == "mentions":
            self._mentions = _mention_columns(connection, self.scope)
        elif name == "clips":
            self.clips = _clip_uris(connection, self.scope)
        elif name == "index":
            self.searcher = text.Searcher(text.text_directory(self.directory, self.scope))
            self._vectors = vectors.Kept(vectors.index_file(self.directory, self.scope))
        elif name == "texts":
            self._load_texts(connection, int(first))
        else:
            ids = self._columns["node_id"]
            assert self._vectors is not None
            self._vectors.add(*vectors.read(connection, ids[int(first) : int(first) + _CHUNK]), len(ids))
        self._loaded.add(part)

    def _load_texts(self, connection: duckdb.DuckDBPyConnection, first: int) -> None:
        ids = self._columns["node_id"][first : first + _CHUNK]
        query = f"SELECT text, payload, hash FROM nodes {_STANDING} AND node_id BETWEEN ? AND ? ORDER BY node_id"
        rows = connection.execute(query, [self.scope, int(ids[0]), int(ids[-1])]).fetchnumpy()
        for name, values in self._strings.items():
            values += rows[name].tolist()

    def derived(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """What `make` gives, made once for this state; the last few are kept."""
        if key not in self._derived:
            self._derived[key] = make()
            _shorten(self._derived, _DERIVED)
        self._derived.move_to_end(key)
        return self._derived[key]

    def covers(self, view: View) -> bool:
        """Whether the columns can tell what a view sees: those of what was once known are not among them."""
        return view.scope == self.scope and view.known_at is None

    def visible(self, view: View) -> Ids:
        """As `Snapshot.visible`."""
        if view in self._seen:
            self._seen.move_to_end(view)
        else:
            self._seen[view] = self._columns["node_id"][self._sees(view)]
            _shorten(self._seen, _VIEWS)
        return self._seen[view]

    def _sees(self, view: View) -> NDArray[np.bool_]:
        rows = self._columns
        mask: NDArray[np.bool_] = np.isin(rows["kind"], [_KINDS.index(kind) for kind in view.kinds])
        if view.as_of is None:
            mask &= rows["retired_at"] == _FOREVER
        else:
            mask &= (rows["learnt_at"] <= view.as_of) & (rows["retired_at"] > view.as_of)
            mask &= (rows["valid_from"] <= view.as_of) & (rows["valid_to"] > view.as_of)
        if view.source_id is not None:
            mask &= rows["source_id"] == view.source_id
        if view.from_ms is not None:
            mask &= rows["moment"] >= view.from_ms
        if view.to_ms is not None:
            mask &= (rows["moment"] <= view.to_ms) & (rows["moment"] != _UNKNOWN)
        return mask

    def moments(self, ids: Ids) -> Ids:
        """When these nodes happened: wall clock where the source has one, else media time."""
        found = self._columns["moment"][np.searchsorted(self._columns["node_id"], ids)]
        return np.where(found == _UNKNOWN, 0, found)

    def sources_of(self, ids: Ids) -> Ids:
        """As `Snapshot.sources_of`."""
        found: Ids = self._columns["source_id"][np.searchsorted(self._columns["node_id"], ids)]
        return found

    def nodes(self, ids: Sequence[int] | Ids) -> dict[int, Node] | None:
        """As `Snapshot.nodes`; None when one of them is not among what is kept."""
        if len(self._strings["text"]) < len(self._columns["node_id"]):
            return None
        known = {node_id: self._parsed.get(node_id) for node_id in np.asarray(ids, np.int64).tolist()}
        fresh = np.array([node_id for node_id, node in known.items() if node is None], np.int64)
        if not vectors.inside(self._columns["node_id"], fresh).all():
            return None
        parsed = self._parse(fresh)
        self._parsed.update(parsed)
        _shorten(self._parsed, _NODES)
        return {node_id: node or parsed[node_id] for node_id, node in known.items()}

    def _parse(self, ids: Ids) -> dict[int, Node]:
        rows = np.searchsorted(self._columns["node_id"], ids)
        columns: dict[str, list[Any]] = {
            name: [None if value in (_FOREVER, _UNKNOWN) else value for value in self._columns[name][rows].tolist()]
            for name in ("node_id", "learnt_at", *_SINCE, *_UNTIL)
        }
        columns["kind"] = [_KINDS[kind] for kind in self._columns["kind"][rows].tolist()]
        columns |= {name: [values[row] for row in rows.tolist()] for name, values in self._strings.items()}
        columns["payload"] = [json.loads(payload) for payload in columns["payload"]]
        found = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        return {row["node_id"]: Node(scope_id=self.scope, **row) for row in found}

    def neighbours(self, ids: Sequence[int], view: View) -> list[Neighbour] | None:
        """As `Snapshot.neighbours`; None when the edges are not kept."""
        rows = self._edges
        if not rows:
            return None
        wanted = np.asarray(sorted(set(ids)), np.int64)
        found = []
        for end in ("src", "dst"):
            order, sorted_ends = rows[f"by_{end}"], rows[f"sorted_{end}"]
            first = np.searchsorted(sorted_ends, wanted, "left")
            last = np.searchsorted(sorted_ends, wanted, "right")
            found += [order[a:b] for a, b in zip(first, last, strict=True)]
        touched = vectors.union(found)
        if view.as_of is None:
            touched = touched[rows["retired_at"][touched] == _FOREVER]
        else:
            learnt, retired = rows["learnt_at"][touched], rows["retired_at"][touched]
            touched = touched[(learnt <= view.as_of) & (retired > view.as_of)]
        columns = (rows[name][touched].tolist() for name in ("edge_id", "channel", "src", "dst"))
        return [Neighbour(*row) for row in zip(*columns, strict=True)]

    def mentioning(self, handles: Sequence[str], role: str | None) -> Ids:
        """As `Snapshot.mentioning`."""
        roles = self._mentions.values() if role is None else [self._mentions.get(role, {})]
        return vectors.union([known[handle] for known in roles for handle in handles if handle in known])

    def handles(self, role: str) -> dict[str, int]:
        """As `Snapshot.handles`."""
        if role not in self._counts:
            self._counts[role] = {handle: len(ids) for handle, ids in self._mentions.get(role, {}).items()}
        return self._counts[role]

    def cosines(self, ids: Ids, query: NDArray[np.float32]) -> NDArray[np.float64] | None:
        """As `Snapshot.cosines`; None when the vectors are not kept."""
        if self._vectors is None or len(self._columns["node_id"]) > MOST_ROWS:
            return None
        return self._vectors.cosines(ids, query)

    def search_vectors(self, query: NDArray[np.float32], ids: Ids, k: int) -> list[tuple[int, float]] | None:
        """As `Snapshot.search_vectors`; None when the vectors are not kept."""
        if self._vectors is None or len(self._columns["node_id"]) > MOST_ROWS:
            return None
        return self._vectors.search(query, ids, k)


_KINDS = ("event", "window", "turn", "session", "fact", "entity", "source", "scope")
_PLACE = ("source_id", "pass_id", "parent_id", "clip_first", "clip_last", "t_start_ms", "t_end_ms", "time_ms")
_SINCE = (*_PLACE, "valid_from")
_UNTIL = ("valid_to", "retired_at")
"""Columns that may be null: unknown, or without an end."""
_STANDING = "WHERE scope_id = ? AND commit_id IS NOT NULL AND withdrawn_commit IS NULL"


def _node_columns(connection: duckdb.DuckDBPyConnection, scope: str) -> Columns:
    columns = [
        "node_id",
        "learnt_at",
        "list_position(?, kind) - 1 AS kind",
        f"coalesce(time_ms, t_start_ms, {_UNKNOWN}) AS moment",
        *(f"coalesce({name}, {_UNKNOWN}) AS {name}" for name in _SINCE),
        *(f"coalesce({name}, {_FOREVER}) AS {name}" for name in _UNTIL),
    ]
    query = f"SELECT {', '.join(columns)} FROM nodes {_STANDING} ORDER BY node_id"
    found = connection.execute(query, [list(_KINDS), scope]).fetchnumpy()
    return {name: np.asarray(values, np.int8 if name == "kind" else np.int64) for name, values in found.items()}


def _edge_columns(connection: duckdb.DuckDBPyConnection, scope: str) -> Columns:
    query = (
        f"SELECT edge_id, channel, src, dst, learnt_at, coalesce(retired_at, {_FOREVER}) AS retired_at"
        f" FROM edges {_STANDING} ORDER BY edge_id"
    )
    found = connection.execute(query, [scope]).fetchnumpy()
    rows = {name: np.asarray(values) for name, values in found.items()}
    for end in ("src", "dst"):
        rows[f"by_{end}"] = np.argsort(rows[end], kind="stable")
        rows[f"sorted_{end}"] = rows[end][rows[f"by_{end}"]]
    return rows


def _mention_columns(connection: duckdb.DuckDBPyConnection, scope: str) -> dict[str, dict[str, Ids]]:
    counted = "SELECT role, handle, count(*) FROM mentions WHERE scope_id = ? GROUP BY role, handle ORDER BY 1, 2"
    groups = connection.execute(counted, [scope]).fetchall()
    query = "SELECT node_id FROM mentions WHERE scope_id = ? ORDER BY role, handle, node_id"
    ids = np.asarray(connection.execute(query, [scope]).fetchnumpy()["node_id"], np.int64)
    found: dict[str, dict[str, Ids]] = {}
    first = 0
    for role, handle, number in groups:
        found.setdefault(role, {})[handle] = ids[first : first + number]
        first += number
    return found


def _clip_uris(connection: duckdb.DuckDBPyConnection, scope: str) -> dict[tuple[int, int], dict[int, str]]:
    rows = "FROM clips JOIN sources USING (source_id) WHERE scope_id = ?"
    query = f"SELECT source_id, pass_id, clip_index, clips.uri {rows}"
    found: dict[tuple[int, int], dict[int, str]] = {}
    for source_id, pass_id, index, uri in connection.execute(query, [scope]).fetchall():
        found.setdefault((source_id, pass_id), {})[index] = uri
    return found


def _shorten(known: OrderedDict[Any, Any], most: int) -> None:
    while len(known) > most:
        known.popitem(last=False)


def remember(results: OrderedDict[str, list[tuple[Any, ...]]], key: str, rows: list[tuple[Any, ...]]) -> None:
    """Keeps the rows of a small query for the next time that it is asked."""
    if len(rows) <= 200:
        results[key] = rows
        _shorten(results, _RESULTS)


_kept: OrderedDict[tuple[Path, str], Kept] = OrderedDict()


def forget() -> None:
    """Drops everything that this process keeps."""
    _kept.clear()


def of(directory: Path, scope: str, state: Signature) -> Kept | None:
    """What is kept of a scope in this state; None, and a note that it was asked for, the first time."""
    key = (directory, scope)
    known = _kept.get(key)
    if known is not None and known.state == state:
        _kept.move_to_end(key)
        while len(_kept) > 1 and sum(one.rows for one in _kept.values()) > MOST_ROWS:
            _kept.popitem(last=False)
        return known
    _kept[key] = Kept(directory, scope, state)
    _kept.move_to_end(key)
    _shorten(_kept, _SCOPES)
    return None  # whoever asks once reads only what the question needs
