"""Brings the FAISS indexes of a memory along in a thread of its own: a chunk takes seconds, in which clips go on.

When a chunk is folded has no say in what it holds, so an index comes out the same however long each took.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import duckdb
import numpy as np

from amr.store import database, gate, vectors


class Folds:
    """The tails of a memory's indexes, counted by its one writer; one chunk is folded at a time."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._tails: dict[str, int] = {}
        self._thread = ThreadPoolExecutor(1)
        self._running: Future[tuple[str, int]] | None = None

    def count(self, connection: duckdb.DuckDBPyConnection, scope: str, added: int, is_new: bool) -> None:
        """Takes note of so many vectors that are committed; reads, for the first of a scope, what was before.

        A scope `is_new` when nothing was.
        """
        if is_new or scope in self._tails:
            self._tails[scope] = self._tails.get(scope, 0) + added
            return
        folded = vectors.folded_through(vectors.index_file(self._directory, scope))
        row = connection.execute(f"SELECT count(*) {_TAIL}", [scope, folded]).fetchone()
        self._tails[scope] = int(row[0]) if row else 0

    def go_on(self) -> bool:
        """Starts the next chunk that is due, unless one is being folded; whether one is now.

        Raises what folding the one before raised.
        """
        if self._running is not None:
            if not self._running.done():
                return True
            self.wait()
        long = min(vectors.FOLD_ROWS, vectors.EXACT_ROWS)
        for scope, tail in self._tails.items():
            if tail > long and vectors.fold_is_due(vectors.index_file(self._directory, scope), tail):
                self._running = self._thread.submit(self._fold, scope)
                return True
        return False

    def wait(self) -> None:
        """Waits for the chunk that is being folded. Raises what that raises."""
        running, self._running = self._running, None
        if running is not None:
            scope, rows = running.result()
            self._tails[scope] -= rows

    def close(self) -> None:
        """Folds all that is due and ends the thread."""
        try:
            while self.go_on():
                self.wait()
        finally:
            self._thread.shutdown()

    def _fold(self, scope: str) -> tuple[str, int]:
        """Moves the oldest rows of a scope's tail into its index, while others read on; gives how many."""
        file = vectors.index_file(self._directory, scope)
        with gate.reading(self._directory), database.connected(self._directory, read_only=True) as connection:
            query = f"SELECT v.node_id {_TAIL} ORDER BY 1 LIMIT {vectors.FOLD_ROWS}"
            found = connection.execute(query, [scope, vectors.folded_through(file)]).fetchnumpy()["node_id"]
            ids, matrix = vectors.read(connection, np.asarray(found, np.int64))
        vectors.fold(file, ids, matrix)
        return scope, len(ids)


_TAIL = "FROM vectors v JOIN nodes n USING (node_id) WHERE n.scope_id = ? AND v.node_id > ? AND lane = 'text'"
