"""Nearest vectors: exact where the filter leaves few rows, a FAISS HNSW index beyond, the newest rows exactly.

Vectors are unit length, so the inner product is the cosine. The index file of a scope holds its oldest rows in
chunks of FOLD_ROWS in id order; the rows after it are its tail and are searched exactly, so a rebuilt index
holds the same rows in the same order.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from amr.errors import UsageError

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
    scores = np.round((vectors @ query).astype(np.float64), 4)
    order = np.lexsort((ids, -scores))[:k]
    return [(int(ids[i]), float(scores[i])) for i in order]


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
    import faiss

    index: Any = faiss.read_index(str(file))
    depth = min(4 * k, index.ntotal)
    hnsw: Any = faiss.downcast_index(index.index)
    hnsw.hnsw.efSearch = max(_SEARCH_WIDTH, depth)
    scores, found = index.search(query[None, :], depth)
    inside = np.isin(found[0], accepted)
    rows = [(int(i), round(float(s), 4)) for i, s in zip(found[0][inside], scores[0][inside], strict=True)]
    return sorted(rows, key=lambda row: (-row[1], row[0]))[:k] if len(rows) >= k else None
