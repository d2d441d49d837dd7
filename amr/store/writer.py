"""The memory's one writer: whole clips in, one transaction each, indexes brought along after the commit."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb

from amr.errors import BadInput
from amr.records import CallRow
from amr.store import asked, database, gate, vectors
from amr.store.folds import Folds
from amr.store.rows import Batch, PassRow, SourceRow
from amr.store.snapshot import LIVE
from amr.store.tables import arrow, insert, tables_of
from amr.store.text_indexes import TextIndexes
from amr.store.worlds import Change, Gains, Parents, adjust_worlds, ancestors, load_parents, shared

CHECKPOINT_REPLAYED_BYTES = 2_500_000
"""Every open replays the write-ahead log, at 6 ms of processor time for a MB, and a checkpoint takes about 15 ms
however large the memory is: it is due when the replays since the last one have cost as much."""


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
            last_nodes = database.last_nodes(snapshot.connection)
        self._text = TextIndexes(directory, last_nodes)
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
            tables = tables_of(batch, commit_id, staged)
            added = self._text.add(batch)
            gains = None if staged else Gains(batch)
        with self._transaction() as connection:
            for pass_id, clip_index in batch.retried:
                for table in ("clips", "observations"):
                    connection.execute(
                        f"DELETE FROM {table} WHERE pass_id = ? AND clip_index = ?", [pass_id, clip_index]
                    )
            insert(connection, tables)
            for row in [*batch.grown, *([finished] if finished is not None else [])]:
                _update_source(connection, row)
            for key, value in batch.meta.items():
                _set_meta(connection, key, value)
            _add_calls(connection, batch.calls)
            retired = _retire_edges(connection, batch.retired_edges, commit_id)
            retired += _retire_nodes(connection, batch.retired_nodes, commit_id)
            changes = [] if gains is None else [*gains.changes(connection), *retired]
            root = adjust_worlds(connection, changes)
            self._log(connection, commit_id, root, batch.rows())
            for scope, one in added.items():
                self._text.commit(scope, one)
                self._folds.count(connection, scope, one.vectors, one.is_new)
        with _explained(self.directory):
            self._folds.go_on()
            self._text.rest()
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
            _set_meta(connection, key, value)
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
                insert(connection, tables_of(links, commit_id, False))
                changes += [
                    *Gains(links).changes(connection),
                    *_retire_edges(connection, links.retired_edges, commit_id),
                ]
            root = adjust_worlds(connection, changes)
            self._log(connection, commit_id, root, len(changes))
        return commit_id

    def close(self) -> None:
        """Folds the write-ahead log into the database and lets the indexes' threads end."""
        self._text.close()
        self._checkpoint()
        with _explained(self.directory):
            self._folds.close()

    def _checkpoint(self) -> None:
        with (
            gate.exclusive(self.directory),
            database.connected(self.directory, read_only=False) as connection,
            _explained(self.directory),
        ):
            connection.execute("CHECKPOINT")
        self._replayed = 0

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
            # Readers that wait come first: each of the two parts is short enough for them.
            self._checkpoint()

    def _log(self, connection: duckdb.DuckDBPyConnection, commit_id: int, root: str, rows: int) -> None:
        wall = time.time_ns() // 1_000_000
        connection.execute("INSERT INTO commits VALUES (?, ?, ?, ?, ?)", [commit_id, wall, self._command, root, rows])
        connection.execute("COMMIT")


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


def _set_meta(connection: duckdb.DuckDBPyConnection, key: str, value: str) -> None:
    connection.execute("DELETE FROM meta WHERE key = ?", [key])
    connection.execute("INSERT INTO meta VALUES (?, ?)", [key, value])


def _update_source(connection: duckdb.DuckDBPyConnection, source: SourceRow) -> None:
    connection.execute(
        "UPDATE sources SET complete = ?, duration_ms = ?, uri = ?, origin_wall_ms = coalesce(origin_wall_ms, ?)"
        " WHERE source_id = ?",
        [source.complete, source.duration_ms, source.uri, source.origin_wall_ms, source.source_id],
    )


def _add_calls(connection: duckdb.DuckDBPyConnection, calls: list[CallRow]) -> None:
    """Adds to the ledger. A paid call that an earlier command, killed since, had noted already is not noted again."""
    if not calls:
        return
    connection.register("incoming", arrow("calls", [tuple(vars(row).values()) for row in calls]))
    names = ", ".join(vars(calls[0]))
    connection.execute(
        f"INSERT INTO calls SELECT * FROM incoming AS new({names}) WHERE cached OR NOT EXISTS (SELECT 1 FROM calls old"
        " WHERE old.key = new.key AND old.wall_ms = new.wall_ms AND NOT old.cached)"
    )
    connection.unregister("incoming")


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
        parents: Parents = {}
        load_parents(connection, parents, {node_id})
        if row[1]:
            changes += [(world, -int(row[0], 16), -1) for world in ancestors(parents, node_id)[1:]]
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
    parents: Parents = {row[0]: row[1] for row in nodes}
    load_parents(connection, parents, {row[1] for row in nodes if row[1] is not None})
    changes: list[Change] = [
        (world, sign * int(digest, 16), sign)
        for node_id, _, digest in nodes
        for world in ancestors(parents, node_id)[1:]
    ]
    return changes + _edge_changes(connection, f"{_TOUCHING} AND {LIVE}", [pass_id], sign)


def _edge_changes(connection: duckdb.DuckDBPyConnection, condition: str, values: list[Any], sign: int) -> list[Change]:
    edges = connection.execute(f"SELECT src, dst, hash FROM edges WHERE {condition}", values).fetchall()
    parents: Parents = {}
    load_parents(connection, parents, {end for src, dst, _ in edges for end in (src, dst)})
    return [(world, sign * int(digest, 16), 0) for src, dst, digest in edges for world in shared(parents, src, dst)]
