"""The memory's one writer: whole clips in, one transaction each, indexes brought along after the commit."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from amr.errors import BadInput
from amr.records import CallRow, Edge, Mention, Node
from amr.store import asked, database, gate, text, vectors
from amr.store.folds import Folds
from amr.store.hashing import EMPTY_SUM, add_to_sum, canonical_json, world_hash
from amr.store.rows import Batch, PassRow, SourceRow
from amr.store.schema import MEMORY_WORLD
from amr.store.snapshot import LIVE, indexed_text

CHECKPOINT_REPLAYED_BYTES = 2_500_000
"""Every open replays the write-ahead log, at 6 ms of processor time for a MB, and a checkpoint takes about 15 ms
however large the memory is: it is due when the replays since the last one have cost as much."""

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
    "calls": [*[_TEXT] * 5, _INT, _INT, pa.float64(), pa.float64(), pa.bool_(), _TEXT, _INT],
}


@contextmanager
def writing(directory: Path, command: str, embedder: str, wait_seconds: float | None = None) -> Iterator[Writer]:
    """Opens (or makes) a memory for one writing command, alone.

    Raises BadInput when the directory cannot be used or another embedder wrote it, MemoryBusy when another
    writer does not end within `wait_seconds`, UsageError without FAISS.
    """
    vectors.require_faiss()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "writer.lock").open("a").close()
    except OSError as error:
        raise BadInput(f"The memory {directory} cannot be written ({error.strerror}); choose another.") from error
    with gate.writing_command(directory, command, wait_seconds):
        database.create(directory, embedder)
        writer = Writer(directory, command, embedder)
        asked.take_up(directory, writer.add_calls)
        try:
            yield writer
        except BaseException:
            # The error that ended the command is the one to report, not a full disk met again while closing.
            with suppress(Exception):
                writer.close()
            raise
        writer.close()


class Writer:
    """Commits batches for one command. Ids are handed out in commit order and never used twice."""

    def __init__(self, directory: Path, command: str, embedder: str) -> None:
        self.directory = directory
        self._command = command
        self._text: dict[str, text.TextWriter] = {}
        self._folds = Folds(directory)
        self._replayed = 0
        self.committed_at = 0.0
        """When this command last committed clips, by `time.monotonic()`; 0 before."""
        with database.reading(directory) as snapshot:
            written_by = snapshot.meta("embedder")
            if written_by != embedder:
                raise BadInput(
                    f"The memory {directory} was written with the embedder {written_by}, this command uses"
                    f" {embedder}; ingest into a new memory."
                )
            scopes = sorted({source.scope_id for source in snapshot.sources()})
        for scope in scopes:
            database.repair_text(directory, scope)
        with gate.reading(directory), database.connected(directory, read_only=True) as connection:
            self._next = {
                table: _after_last(connection, table, column)
                for table, column in (
                    ("nodes", "node_id"),
                    ("edges", "edge_id"),
                    ("sources", "source_id"),
                    ("passes", "pass_id"),
                    ("commits", "commit_id"),
                )
            }

    def new_id(self, table: str) -> int:
        """The next id of `nodes`, `edges`, `sources` or `passes`."""
        self._next[table] += 1
        return self._next[table] - 1

    def commit(self, batch: Batch, staged: bool = False, finished: SourceRow | None = None) -> int:
        """Writes the batch in one transaction and brings the indexes along; returns the commit's id.

        Rows of a `staged` pass stay unseen until `finish_pass`. The row of a source that is `finished` with this
        batch is updated.
        """
        commit_id = self.new_id("commits")
        # Whatever can be made ready is, before the gate shuts the readers out.
        with _explained(self.directory):
            tables = [(table, _arrow(table, rows)) for table, rows in _tables(batch, commit_id, staged) if rows]
            scopes = self._add_text(batch.nodes)
        with self._transaction() as connection:
            for pass_id, clip_index in batch.retried:
                for table in ("clips", "observations"):
                    connection.execute(
                        f"DELETE FROM {table} WHERE pass_id = ? AND clip_index = ?", [pass_id, clip_index]
                    )
            _insert(connection, tables)
            if finished is not None:
                _update_source(connection, finished)
            _add_calls(connection, batch.calls)
            retired = _retire_edges(connection, batch.retired_edges, commit_id)
            retired += _retire_nodes(connection, batch.retired_nodes, commit_id)
            changes = [] if staged else [*_gains(connection, batch), *retired]
            root = _adjust_worlds(connection, changes)
            self._log(connection, commit_id, root, batch.rows())
            for scope, last in scopes.items():
                self._text[scope].commit(last)
                self._folds.count(connection, scope, batch)
        with _explained(self.directory):
            self._folds.go_on()
        self.committed_at = time.monotonic()
        return commit_id

    def add_calls(self, calls: list[CallRow]) -> None:
        """Notes calls to models that no clip was written with."""
        if calls:
            with self._transaction() as connection:
                _add_calls(connection, calls)
                connection.execute("COMMIT")

    def set_meta(self, key: str, value: str) -> None:
        """Changes one of the memory's own settings."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM meta WHERE key = ?", [key])
            connection.execute("INSERT INTO meta VALUES (?, ?)", [key, value])
            connection.execute("COMMIT")

    def finish_pass(
        self, source: SourceRow, revealed: PassRow | None, replaced: Sequence[PassRow], links: Batch | None = None
    ) -> int:
        """Updates a source's row; a staged pass that is `revealed` becomes live, the `replaced` are withdrawn.

        `links` are the edges that change with that.
        """
        commit_id = self.new_id("commits")
        with self._transaction() as connection:
            _update_source(connection, source)
            changes = []
            for old in replaced:
                changes += _withdraw(connection, old.pass_id, commit_id)
                connection.execute("UPDATE passes SET state = 'replaced' WHERE pass_id = ?", [old.pass_id])
            if revealed is not None:
                changes += _unveil(connection, revealed.pass_id, commit_id)
                connection.execute("UPDATE passes SET state = 'live' WHERE pass_id = ?", [revealed.pass_id])
            if links is not None:
                _insert(connection, [(t, _arrow(t, rows)) for t, rows in _tables(links, commit_id, False) if rows])
                changes += [*_gains(connection, links), *_retire_edges(connection, links.retired_edges, commit_id)]
            root = _adjust_worlds(connection, changes)
            self._log(connection, commit_id, root, len(changes))
        return commit_id

    def close(self) -> None:
        """Folds the write-ahead log into the database and lets the indexes' threads end."""
        for writer in self._text.values():
            writer.close()
        with (
            gate.exclusive(self.directory),
            database.connected(self.directory, read_only=False) as connection,
        ):
            connection.execute("CHECKPOINT")
        with _explained(self.directory):
            self._folds.close()

    @contextmanager
    def _transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with (
            gate.exclusive(self.directory),
            database.connected(self.directory, read_only=False) as connection,
            _explained(self.directory),
        ):
            connection.execute("BEGIN")
            yield connection
            self._replayed += _wal_bytes(self.directory)
            if self._replayed > CHECKPOINT_REPLAYED_BYTES:
                connection.execute("CHECKPOINT")
                self._replayed = 0

    def _log(self, connection: duckdb.DuckDBPyConnection, commit_id: int, root: str, rows: int) -> None:
        wall = time.time_ns() // 1_000_000
        connection.execute("INSERT INTO commits VALUES (?, ?, ?, ?, ?)", [commit_id, wall, self._command, root, rows])
        connection.execute("COMMIT")

    def _add_text(self, nodes: list[Node]) -> dict[str, int]:
        """Adds the nodes to the text indexes, not yet committed; returns each scope's last node id."""
        rows: dict[str, list[tuple[int, str]]] = {}
        for node in nodes:
            rows.setdefault(node.scope_id, []).append((node.node_id, indexed_text(node.text, node.payload)))
        for scope, added in rows.items():
            if scope not in self._text:
                self._text[scope] = text.TextWriter(text.text_directory(self.directory, scope))
            self._text[scope].add(added)
        return {scope: added[-1][0] for scope, added in rows.items()}


@contextmanager
def _explained(directory: Path) -> Iterator[None]:
    """Turns what storing can raise into a sentence for the user."""
    try:
        yield
    except (duckdb.Error, OSError, ValueError) as error:
        raise database.failure(directory, error) from error


def _after_last(connection: duckdb.DuckDBPyConnection, table: str, column: str) -> int:
    row = connection.execute(f"SELECT coalesce(max({column}) + 1, 0) FROM {table}").fetchone()
    return int(row[0]) if row else 0


def _wal_bytes(directory: Path) -> int:
    wal = database.database_file(directory).with_name("memory.duckdb.wal")
    return wal.stat().st_size if wal.exists() else 0


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


def _insert(connection: duckdb.DuckDBPyConnection, tables: list[tuple[str, pa.Table]]) -> None:
    for table, arrow in tables:
        connection.register("incoming", arrow)
        connection.execute(f"INSERT INTO {table} SELECT * FROM incoming")
        connection.unregister("incoming")


def _update_source(connection: duckdb.DuckDBPyConnection, source: SourceRow) -> None:
    connection.execute(
        "UPDATE sources SET complete = ?, duration_ms = ?, uri = ? WHERE source_id = ?",
        [source.complete, source.duration_ms, source.uri, source.source_id],
    )


def _add_calls(connection: duckdb.DuckDBPyConnection, calls: list[CallRow]) -> None:
    """Adds to the ledger. A paid call that an earlier command, killed since, had noted already is not noted again."""
    if not calls:
        return
    connection.register("incoming", _arrow("calls", [tuple(vars(row).values()) for row in calls]))
    names = ", ".join(vars(calls[0]))
    connection.execute(
        f"INSERT INTO calls SELECT * FROM incoming AS new({names}) WHERE cached OR NOT EXISTS (SELECT 1 FROM calls old"
        " WHERE old.key = new.key AND old.wall_ms = new.wall_ms AND NOT old.cached)"
    )
    connection.unregister("incoming")


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


def _arrow(table: str, rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, type=kind) for column, kind in zip(columns, _TYPES[table], strict=True)]
    return pa.table(arrays, names=[f"c{i}" for i in range(len(arrays))])


Change = tuple[int, int, int]
"""A world's id, what to add to its sum, and how many children it gains."""


def _gains(connection: duckdb.DuckDBPyConnection, batch: Batch) -> list[Change]:
    """What the batch adds to every world above its nodes and edges."""
    parents = {node.node_id: node.parent_id for node in batch.nodes}
    edges = [edge for edge in batch.edges if edge.retired_at is None]
    ends = {end for edge in edges for end in (edge.src, edge.dst)}
    _load_parents(connection, parents, {p for p in parents.values() if p is not None} | ends)
    sums: dict[int | None, tuple[int, int]] = {}
    changes: list[Change] = []
    for node in batch.nodes:
        if node.retired_at is None:
            total, children = sums.get(node.parent_id, (0, 0))
            sums[node.parent_id] = total + int(node.hash, 16), children + 1
    for edge in edges:
        above = parents[edge.src]
        if above == parents[edge.dst] and edge.src != edge.dst:
            total, children = sums.get(above, (0, 0))
            sums[above] = total + int(edge.hash, 16), children
        else:
            changes += [(world, int(edge.hash, 16), 0) for world in _shared(parents, edge.src, edge.dst)]
    for above, (total, children) in sums.items():
        worlds = [MEMORY_WORLD] if above is None else _ancestors(parents, above)
        changes += [(world, total, children) for world in worlds]
    return changes


def _load_parents(connection: duckdb.DuckDBPyConnection, parents: dict[int, int | None], wanted: set[int]) -> None:
    while missing := sorted(wanted - parents.keys()):
        rows = connection.execute(
            "SELECT node_id, parent_id FROM nodes WHERE node_id IN (SELECT unnest(?::BIGINT[]))", [missing]
        ).fetchall()
        parents.update(rows)
        wanted = {parent for _, parent in rows if parent is not None}


def _ancestors(parents: dict[int, int | None], node_id: int) -> list[int]:
    """The node itself, then each world that contains it, up to the memory."""
    chain, at = [node_id], parents[node_id]
    while at is not None:
        chain.append(at)
        at = parents[at]
    return [*chain, MEMORY_WORLD]


def _shared(parents: dict[int, int | None], src: int, dst: int) -> list[int]:
    """The worlds that contain both ends of an edge; an end may be such a world itself."""
    around = set(_ancestors(parents, dst))
    return [world for world in _ancestors(parents, src) if world in around]


def _retire_edges(
    connection: duckdb.DuckDBPyConnection, retired: list[tuple[int, int]], commit_id: int
) -> list[Change]:
    if not retired:
        return []
    ids, moments = [list(column) for column in zip(*retired, strict=True)]
    changes = _edge_changes(connection, f"edge_id IN (SELECT unnest(?::BIGINT[])) AND {LIVE}", [ids], -1)
    connection.execute(
        "UPDATE edges SET retired_at = gone.moment, retired_commit = ? FROM (SELECT unnest(?::BIGINT[]) AS id,"
        " unnest(?::BIGINT[]) AS moment) AS gone WHERE edge_id = gone.id",
        [commit_id, ids, moments],
    )
    return changes


def _retire_nodes(
    connection: duckdb.DuckDBPyConnection, retired: list[tuple[int, int]], commit_id: int
) -> list[Change]:
    """Retires nodes with their mentions and with the edges that touch them."""
    changes: list[Change] = []
    for node_id, learnt_at in retired:
        row = connection.execute(
            "SELECT hash, commit_id IS NOT NULL FROM nodes WHERE node_id = ?", [node_id]
        ).fetchone()
        assert row is not None
        parents: dict[int, int | None] = {}
        _load_parents(connection, parents, {node_id})
        if row[1]:
            changes += [(world, -int(row[0], 16), -1) for world in _ancestors(parents, node_id)[1:]]
        changes += _edge_changes(connection, f"(src = ? OR dst = ?) AND {LIVE}", [node_id, node_id], -1)
        mine = {"nodes": "node_id = $1", "mentions": "node_id = $1", "edges": "(src = $1 OR dst = $1)"}
        for table, condition in mine.items():
            connection.execute(
                f"UPDATE {table} SET retired_at = $2, retired_commit = $3 WHERE {condition} AND retired_at IS NULL",
                [node_id, learnt_at, commit_id],
            )
    return changes


_OF_PASS = "node_id IN (SELECT node_id FROM nodes WHERE pass_id = $1)"
_TOUCHING = f"({_OF_PASS.replace('node_id IN', 'src IN')} OR {_OF_PASS.replace('node_id IN', 'dst IN')})"
_OWN = (("mentions", _OF_PASS), ("edges", _TOUCHING), ("nodes", "pass_id = $1"))


def _withdraw(connection: duckdb.DuckDBPyConnection, pass_id: int, commit_id: int) -> list[Change]:
    """Hides a pass at every as-of; only an earlier known-at still shows it."""
    changes = _pass_changes(connection, pass_id, -1)
    for table, condition in _OWN:
        connection.execute(
            f"UPDATE {table} SET withdrawn_commit = $2 WHERE {condition} AND withdrawn_commit IS NULL",
            [pass_id, commit_id],
        )
    return changes


def _unveil(connection: duckdb.DuckDBPyConnection, pass_id: int, commit_id: int) -> list[Change]:
    """Makes the rows of a staged pass part of the memory from this commit on."""
    for table, condition in _OWN:
        connection.execute(
            f"UPDATE {table} SET commit_id = $2 WHERE {condition} AND commit_id IS NULL", [pass_id, commit_id]
        )
    return _pass_changes(connection, pass_id, 1)


def _pass_changes(connection: duckdb.DuckDBPyConnection, pass_id: int, sign: int) -> list[Change]:
    nodes = connection.execute(
        f"SELECT node_id, parent_id, hash FROM nodes WHERE pass_id = ? AND {LIVE}", [pass_id]
    ).fetchall()
    parents: dict[int, int | None] = {row[0]: row[1] for row in nodes}
    _load_parents(connection, parents, {row[1] for row in nodes if row[1] is not None})
    changes: list[Change] = [
        (world, sign * int(digest, 16), sign)
        for node_id, _, digest in nodes
        for world in _ancestors(parents, node_id)[1:]
    ]
    return changes + _edge_changes(connection, f"{_TOUCHING} AND {LIVE}", [pass_id], sign)


def _edge_changes(connection: duckdb.DuckDBPyConnection, condition: str, values: list[Any], sign: int) -> list[Change]:
    edges = connection.execute(f"SELECT src, dst, hash FROM edges WHERE {condition}", values).fetchall()
    parents: dict[int, int | None] = {}
    _load_parents(connection, parents, {end for src, dst, _ in edges for end in (src, dst)})
    return [(world, sign * int(digest, 16), 0) for src, dst, digest in edges for world in _shared(parents, src, dst)]


def _adjust_worlds(connection: duckdb.DuckDBPyConnection, changes: list[Change]) -> str:
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
    fresh = {}
    for world in sorted(totals):
        total, children = known.get(world, (EMPTY_SUM, 0))
        fresh[world] = (add_to_sum(total, totals[world][0]), children + totals[world][1])
        statement = (
            "UPDATE worlds SET sum = ?, children = ? WHERE node_id = ?"
            if world in known
            else "INSERT INTO worlds(sum, children, node_id) VALUES (?, ?, ?)"
        )
        connection.execute(statement, [*fresh[world], world])
    return world_hash("memory", fresh[MEMORY_WORLD][0])
