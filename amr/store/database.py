"""Opens a memory's database through the gate, and keeps the derived text index in step with it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from amr.errors import BadInput
from amr.store import gate, kept, text
from amr.store.schema import DDL, FORMAT_VERSION
from amr.store.snapshot import NOT_INDEXED, Snapshot, indexed_text

T = TypeVar("T")

_HELD_SECONDS = 0.15
"""How long one question keeps writers out before it lets them in for a moment."""
_LOADING_SECONDS = 0.05
"""How long parts of what is kept are read in one pass; the last of them may take some 0.1 s more."""
_GROUP_ROWS = 8192
"""A checkpoint writes the last group of each table anew: by default 122,880 rows, which of vectors are 120 MB."""
_REPAIR_ROWS = 50_000
_USES = 8
_REPAIR_WAIT_SECONDS = 0.2


def database_file(directory: Path) -> Path:
    """The one file that is the truth of a memory."""
    return directory / "memory.duckdb"


_idle: list[duckdb.DuckDBPyConnection] = []
_starting: list[threading.Thread] = []
_let_go = count(1)


@contextmanager
def connected(directory: Path, read_only: bool) -> Iterator[duckdb.DuckDBPyConnection]:
    """An open connection; the caller holds the gate. Raises BadInput when the file is not a memory.

    Starting DuckDB takes ten times as long as opening a file, so an engine that was let go of is used again.
    """
    try:
        connection = _engine()
        file = str(database_file(directory)).replace("'", "''")
        mode = "READ_ONLY" if read_only else f"ROW_GROUP_SIZE {_GROUP_ROWS}"
        connection.execute(f"ATTACH '{file}' AS amr (TYPE duckdb, {mode})")
        connection.execute("USE amr")
    except duckdb.Error as error:
        raise failure(directory, error) from error
    try:
        yield connection
        connection.execute("USE memory")
        connection.execute("DETACH amr")
    except BaseException:
        connection.close()
        raise
    # An engine's memory creeps up with every file that it opens; a new one begins small.
    if next(_let_go) % _USES:
        _idle.append(connection)
    else:
        connection.close()


def start_engine() -> None:
    """Has an engine started by another thread, while this one loads what else it needs."""

    def start() -> None:
        with suppress(duckdb.Error):  # it is told by whoever needs the engine
            _idle.append(_new_engine())

    if not _idle and not _starting:
        _starting.append(threading.Thread(target=start))
        _starting[-1].start()


def _engine() -> duckdb.DuckDBPyConnection:
    with suppress(IndexError):
        _starting.pop().join()
    with suppress(IndexError):
        return _idle.pop()
    return _new_engine()


def _new_engine() -> duckdb.DuckDBPyConnection:
    # Without a file of its own, an engine that runs out of memory would spill into the current folder.
    spill = Path(tempfile.gettempdir()) / f"amr-{os.getpid()}"
    engine = duckdb.connect(config={"threads": 2, "temp_directory": str(spill)})
    # The writer checkpoints by itself, rarely: closing after a commit must not rewrite the file.
    engine.execute("PRAGMA disable_checkpoint_on_shutdown")
    engine.execute("SET checkpoint_threshold = '1TB'")
    return engine


def failure(directory: Path, error: Exception) -> BadInput:
    """What to tell the user when the database or an index beside it cannot be opened or written."""
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if "No space left" in str(error) or "File too large" in str(error):
        return BadInput(f"The disk of {directory} is full; free some space and run the same command again.")
    return BadInput(
        f"The memory {directory} cannot be opened or written ({reason}); check the path, or restore it from a copy."
    )


def create(directory: Path, embedder: str) -> None:
    """Makes an empty memory in `directory` if there is none; the caller holds `writer.lock`."""
    if database_file(directory).exists():
        return
    # A kill half way leaves only the temporary file, never a memory without tables.
    fresh = directory / "memory.new"
    for left_over in (fresh, directory / "memory.new.wal"):
        left_over.unlink(missing_ok=True)
    try:
        with duckdb.connect(str(fresh)) as connection:
            connection.execute(DDL)
            rows = [("format_version", str(FORMAT_VERSION)), ("embedder", embedder)]
            connection.executemany("INSERT INTO meta VALUES (?, ?)", rows)
            # Closing would write the tables too, but keep silent about a full disk.
            connection.execute("CHECKPOINT")
    except duckdb.Error as error:
        raise failure(directory, error) from error
    fresh.replace(database_file(directory))


def check_version(connection: duckdb.DuckDBPyConnection, directory: Path) -> None:
    """Raises BadInput when a newer amr wrote this memory."""
    try:
        row = connection.execute("SELECT value FROM meta WHERE key = 'format_version'").fetchone()
    except duckdb.Error as error:
        raise failure(directory, error) from error
    if row is None or int(row[0]) > FORMAT_VERSION:
        found = row[0] if row else "unknown"
        raise BadInput(
            f"The memory {directory} was written by a newer amr (format {found}, this one reads"
            f" {FORMAT_VERSION}); update amr."
        )


def require_memory(directory: Path) -> None:
    """Raises BadInput when there is no readable memory in `directory`."""
    try:
        present = database_file(directory).is_file()
        if present:
            with (directory / "gate.lock").open("a"), database_file(directory).open("rb"):
                pass
    except OSError as error:
        raise BadInput(f"The memory {directory} cannot be read ({error.strerror}); check its rights.") from error
    if not present:
        raise BadInput(f"There is no memory in {directory}; make one with `amr ingest VIDEO --memory {directory}`.")


class _Changed(Exception):
    """Something was committed between two look-ups of one question."""


class _Pass:
    """One pass through the gate, with the database opened when it is first asked for.

    With `pauses`, one that has lasted long is given up for a moment before a look-up, so that no writer waits for
    a whole question; raises _Changed where one has written meanwhile.
    """

    def __init__(self, directory: Path, scope: str | None, pauses: bool) -> None:
        self._directory, self._scope, self._pauses = directory, scope or "", pauses
        self._open = ExitStack()
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._begin()

    def _begin(self) -> None:
        self._open.enter_context(gate.reading(self._directory))
        self._began = time.monotonic()

    def __enter__(self) -> _Pass:
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)

    def state(self) -> kept.Signature:
        """What tells the state of the memory that is read from another."""
        return kept.signature(self._directory, self._scope)

    def connection(self) -> duckdb.DuckDBPyConnection:
        """The open database, for one look-up."""
        if self._connection is not None and self._pauses and time.monotonic() - self._began > _HELD_SECONDS:
            before, self._connection = self.state(), None
            self._open.close()
            self._begin()
            if self.state() != before:
                raise _Changed
        if self._connection is None:
            self._connection = self._open.enter_context(connected(self._directory, read_only=True))
            check_version(self._connection, self._directory)
        return self._connection


def read(directory: Path, scope: str, work: Callable[[Snapshot], T]) -> T:
    """What `work` finds in the last commit, letting writers in now and then; begun again, once, when one has written.

    Else as `reading`.
    """
    with suppress(_Changed), reading(directory, scope, pauses=True) as snapshot:
        return work(snapshot)
    with reading(directory, scope) as snapshot:
        return work(snapshot)


@contextmanager
def reading(directory: Path, scope: str | None = None, pauses: bool = False) -> Iterator[Snapshot]:
    """A consistent view of the last commit; keep it open for no longer than a question takes.

    With `scope`, that scope's text index is brought up to date first, if a kill or a hand left it behind. `pauses`
    is for `read`, which knows what to do when something is committed meanwhile.
    """
    require_memory(directory)
    if not _idle:
        # Not inside the gate, where a writer would wait for it.
        _idle.append(_engine())
    deadline = time.monotonic() + gate.WRITER_WAIT_SECONDS
    while True:
        known = _kept(directory, scope) if scope is not None else None
        with _Pass(directory, scope, pauses) as opened:
            snapshot = Snapshot(opened.connection, directory)
            if known is not None and known.state == opened.state():
                snapshot.kept = known
                yield snapshot
                return
            if scope is None or not _text_is_behind(snapshot.connection, directory, scope):
                yield snapshot
                return
        try:
            with gate.writing_command(directory, "rebuilding the text index", _REPAIR_WAIT_SECONDS):
                repair_text(directory, scope)
        except gate.MemoryBusy:
            # A writer brings every index up to date when it begins, so it is worth to look again.
            if time.monotonic() > deadline:
                raise


def _kept(directory: Path, scope: str) -> kept.Kept | None:
    """What this process keeps of a scope, brought up to date; None where it asks for the first time since a commit.

    Parts that take long are read in passes of their own, so that no writer waits for all of them.
    """
    with gate.reading(directory):
        known = kept.of(directory, scope, kept.signature(directory, scope))
    if known is None:
        return None
    with known.loading:
        while known.missing():
            with gate.reading(directory), connected(directory, read_only=True) as connection:
                if kept.signature(directory, scope) != known.state:
                    return None
                check_version(connection, directory)
                if _text_is_behind(connection, directory, scope):
                    return None
                began = time.monotonic()
                while (missing := known.missing()) and time.monotonic() - began < _LOADING_SECONDS:
                    known.load(missing[0], connection)
    return known


def _last_node(connection: duckdb.DuckDBPyConnection, scope: str) -> int:
    row = connection.execute("SELECT max(node_id) FROM nodes WHERE scope_id = ?", [scope]).fetchone()
    return -1 if row is None or row[0] is None else int(row[0])


def _text_is_behind(connection: duckdb.DuckDBPyConnection, directory: Path, scope: str) -> bool:
    last = _last_node(connection, scope)
    if last < 0:
        return False
    held = text.indexed_through(text.text_directory(directory, scope))
    return held is None or held < last


def last_nodes(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """The id of the last node of every scope."""
    return dict(connection.execute("SELECT scope_id, max(node_id) FROM nodes GROUP BY scope_id ORDER BY 1").fetchall())


def repair_text(directory: Path, scope: str) -> None:
    """Adds the rows that a scope's text index lacks; the caller holds `writer.lock`."""
    folder = text.text_directory(directory, scope)
    with gate.reading(directory), connected(directory, read_only=True) as connection:
        if not _text_is_behind(connection, directory, scope):
            return
        held = text.indexed_through(folder)
        if held is None:
            shutil.rmtree(folder, ignore_errors=True)
        writer = text.TextWriter(folder)
        last = -1 if held is None else held
        for rows in _rows_after(connection, scope, last):
            # The index commits just before its note, so a kill in between leaves rows that the note lacks.
            missing = rows if held is None else [row for row in rows if not writer.holds(row[0])]
            writer.add(missing)
        writer.commit(_last_node(connection, scope))
        writer.close()


def _rows_after(connection: duckdb.DuckDBPyConnection, scope: str, last: int) -> Iterator[list[tuple[int, str]]]:
    query = (
        "SELECT node_id, text, payload FROM nodes WHERE scope_id = ? AND node_id > ?"
        " AND NOT list_contains(?, kind) ORDER BY node_id"
    )
    cursor = connection.execute(query, [scope, last, list(NOT_INDEXED)])
    while rows := cursor.fetchmany(_REPAIR_ROWS):
        yield [(int(row[0]), indexed_text(row[1], json.loads(row[2]))) for row in rows]


def scopes(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Every scope that has a source, in order of its name."""
    found: list[Any] = connection.execute("SELECT DISTINCT scope_id FROM sources ORDER BY 1").fetchall()
    return [row[0] for row in found]
