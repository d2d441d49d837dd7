"""Nearest vectors: exact where the filter leaves few rows, a FAISS HNSW index beyond, the newest rows exactly.

Vectors are unit length, so the inner product is the cosine. The index file of a scope holds its oldest rows in
chunks of FOLD_ROWS in id order; the rows after it are its tail and are searched exactly, so a rebuilt index
holds the same rows in the same order.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from amr.errors import UsageError

if TYPE_CHECKING:
    import duckdb

EXACT_ROWS = 50_000
FOLD_ROWS = 20_000
_LINKS = 32
_SEARCH_WIDTH = 256

Ids = NDArray[np.int64]
Matrix = NDArray[np.float32]


def require_faiss() -> None:
    """Raises UsageError unless one of the two FAISS packages, which own the same module, is installed."""
    if importlib.util.find_spec("faiss") is None:
        raise UsageError("FAISS is not installed; run pip install 'amr-memory[cpu]', or [gpu] with CUDA.")


def index_file(memory: Path, scope: str) -> Path:
    """Where the FAISS index of a scope lives."""
    return memory / "vectors" / f"{quote(scope, safe=' ')}.faiss"


def exact(ids: Ids, vectors: Matrix, query: NDArray[np.float32], k: int) -> list[tuple[int, float]]:
    """The `k` rows of `vectors` [n, d] nearest to `query` [d] as (id, cosine rounded to 1e-4), ties by id."""
    if not len(ids) or k < 1:
        return []
    return _best(ids, _products(vectors, query), k)


def _products(vectors: Matrix, query: NDArray[np.float32]) -> NDArray[np.float32]:
    """The inner product of each row with the query, on one core: threads would only wait for one another."""
    products: NDArray[np.float32] = np.einsum("ij,j->i", vectors, query)
    return products


def folded_through(file: Path) -> int:
    """The largest node id in an index file, -1 when there is none."""
    note = file.with_suffix(".folded")
    try:
        return int(note.read_text()) if file.exists() else -1
    except (OSError, ValueError):
        return -1


def fold_is_due(file: Path, tail: int) -> bool:
    """Whether a tail of so many rows is worth a chunk; the first is made when exact search no longer does."""
    return tail > (FOLD_ROWS if folded_through(file) >= 0 else EXACT_ROWS)


def fold(file: Path, ids: Ids, vectors: Matrix) -> None:
    """Adds one chunk (ids [n], vectors [n, d], larger ids than any before) to an index file, atomically."""
    import faiss

    faiss.omp_set_num_threads(1)  # the graph depends on insertion order; one thread makes it reproducible
    index = faiss.read_index(str(file)) if folded_through(file) >= 0 else _new_index(vectors.shape[1])
    index.add_with_ids(np.ascontiguousarray(vectors), ids)
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_suffix(".new")
    faiss.write_index(index, str(fresh))
    file.with_suffix(".folded").unlink(missing_ok=True)
    fresh.replace(file)
    file.with_suffix(".folded").write_text(str(int(ids[-1])))


def _new_index(dimensions: int) -> Any:
    import faiss

    return faiss.IndexIDMap2(faiss.IndexHNSWFlat(dimensions, _LINKS, faiss.METRIC_INNER_PRODUCT))


def approximate(file: Path, query: NDArray[np.float32], k: int, accepted: Ids) -> list[tuple[int, float]] | None:
    """The nearest accepted rows of the index, or None when fewer than `k` survive the filter."""
    return _search(_opened(file), query, k, accepted)


def _opened(file: Path) -> Any:
    """The index as it is now; its pages are read when they are needed, where this FAISS can do that."""
    import faiss

    return faiss.read_index(str(file), getattr(faiss, "IO_FLAG_MMAP_IFC", 0))


def _search(index: Any, query: NDArray[np.float32], k: int, accepted: Ids) -> list[tuple[int, float]] | None:
    import faiss

    faiss.omp_set_num_threads(1)  # one query is work for one core: a second would only be waited for
    depth = min(4 * k, index.ntotal)
    hnsw: Any = faiss.downcast_index(index.index)
    hnsw.hnsw.efSearch = max(_SEARCH_WIDTH, depth)
    scores, found = index.search(query[None, :], depth)
    kept = inside(accepted, found[0])
    return _best(found[0][kept], scores[0][kept], k) if np.count_nonzero(kept) >= k else None


def _best(ids: Ids, scores: NDArray[np.float32], k: int) -> list[tuple[int, float]]:
    rounded = np.round(scores.astype(np.float64), 4)
    order = np.lexsort((ids, -rounded))[:k]
    return list(zip(ids[order].tolist(), rounded[order].tolist(), strict=True))


def union(parts: Sequence[Ids]) -> Ids:
    """The ids that are in any of some parts, ascending: for parts in order far quicker than numpy's unique."""
    ids = np.sort(np.concatenate(parts), kind="stable") if parts else np.zeros(0, np.int64)
    return ids[np.concatenate(([True], ids[1:] != ids[:-1]))] if len(ids) else ids


def inside(ids: Ids, some: Ids | list[int]) -> NDArray[np.bool_]:
    """Which of `some` are among `ids`, ascending: for a few of many, far quicker than numpy's isin."""
    wanted = np.asarray(some, np.int64)
    places = np.minimum(np.searchsorted(ids, wanted), max(0, len(ids) - 1))
    return ids[places] == wanted if len(ids) else np.zeros(len(wanted), np.bool_)


def read(connection: duckdb.DuckDBPyConnection, ids: Ids, lane: str = "text") -> tuple[Ids, Matrix]:
    """The vectors of these nodes as they are stored: their ids [n] ascending, and float32 [n, d]."""
    rows = "FROM vectors WHERE lane = ? AND node_id BETWEEN ? AND ? ORDER BY node_id"
    parameters = [lane, int(ids[0]), int(ids[-1])] if len(ids) else [lane, 0, -1]
    found = np.asarray(connection.execute(f"SELECT node_id {rows}", parameters).fetchnumpy()["node_id"], np.int64)
    # As numbers in one row after another: Arrow would be as fast, but takes 0.06 s to import.
    flat = connection.execute(f"SELECT unnest(v) AS v FROM (SELECT v {rows})", parameters).fetchnumpy()["v"]
    matrix = np.asarray(flat, np.float32).reshape(len(found), -1) if len(found) else np.zeros((0, 0), np.float32)
    if len(found) == len(ids) and np.array_equal(found, ids):
        return found, matrix
    kept = np.isin(found, ids, assume_unique=True)
    return found[kept], matrix[kept]


class Kept:
    """The vectors of a scope in memory, added part by part in id order, and the FAISS index of the oldest of them."""

    def __init__(self, file: Path) -> None:
        self._folded = folded_through(file)
        self._index = _opened(file) if self._folded >= 0 else None
        self._ids = np.zeros(0, np.int64)
        self._matrix = np.zeros((0, 0), np.float32)

    def add(self, ids: Ids, matrix: Matrix, most: int) -> None:
        """Adds rows; room is made for `most` in all, so that no row is copied twice."""
        if not len(ids):
            return
        if not len(self._ids):
            self._matrix = np.empty((most, matrix.shape[1]), np.float32)
        self._matrix[len(self._ids) : len(self._ids) + len(ids)] = matrix
        self._ids = np.concatenate([self._ids, ids])

    def search(self, query: NDArray[np.float32], ids: Ids, k: int) -> list[tuple[int, float]]:
        """The `k` of `ids`, ascending, that are nearest to `query` as (id, cosine), best first."""
        if len(ids) > EXACT_ROWS and self._index is not None:
            old = ids[: np.searchsorted(ids, self._folded, "right")]
            found = _search(self._index, query, k, old)
            if found is not None:
                tail = self._exact(query, ids[len(old) :], k)
                return sorted(found + tail, key=lambda row: (-row[1], row[0]))[:k]
        return self._exact(query, ids, k)

    def cosines(self, ids: Ids, query: NDArray[np.float32]) -> NDArray[np.float64]:
        """The cosine of `query` with each of these rows, rounded to 1e-4; 0 for one without a vector."""
        found = np.zeros(len(ids))
        known = inside(self._ids, ids)
        rows = self._matrix[np.searchsorted(self._ids, ids[known])]
        found[known] = np.round((rows @ query).astype(np.float64), 4) if len(rows) else []
        return found

    def _exact(self, query: NDArray[np.float32], ids: Ids, k: int) -> list[tuple[int, float]]:
        if not len(ids):
            return []
        # All rows between the first and the last: to gather some of them would take longer than to compare all.
        first, last = np.searchsorted(self._ids, [ids[0], ids[-1] + 1])
        scores, here = _products(self._matrix[first:last], query), self._ids[first:last]
        if len(here) > len(ids):
            kept = inside(ids, here)
            scores, here = scores[kept], here[kept]
        if len(here) > k > 0:
            # What rounding could make as good as the k-th is looked at too.
            best = np.flatnonzero(scores >= np.partition(scores, len(here) - k)[len(here) - k] - 1e-4)
            scores, here = scores[best], here[best]
        return _best(here, scores, k)
