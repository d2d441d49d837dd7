"""Exact search is exact, and the index finds what exact search finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from amr.store import vectors


def unit_rows(n: int, d: int = 16) -> np.ndarray:
    rows = np.random.default_rng(0).standard_normal((n, d)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_exact_search_orders_by_cosine_then_by_id() -> None:
    rows = np.array([[1, 0], [0, 1], [1, 0]], dtype=np.float32)
    found = vectors.exact(np.array([7, 8, 5]), rows, np.array([1, 0], dtype=np.float32), 3)
    assert found == [(5, 1.0), (7, 1.0), (8, 0.0)]


def test_an_index_agrees_with_exact_search_and_knows_what_it_holds(tmp_path: Path) -> None:
    rows, ids = unit_rows(2000), np.arange(2000, dtype=np.int64) * 3
    file = vectors.index_file(tmp_path, "default")
    vectors.fold(file, ids[:1000], rows[:1000])
    vectors.fold(file, ids[1000:], rows[1000:])
    assert vectors.folded_through(file) == 5997
    wanted = vectors.exact(ids, rows, rows[42], 10)
    found = vectors.approximate(file, rows[42], 10, ids)
    assert found is not None
    assert found[0] == (126, 1.0)
    assert len({i for i, _ in found} & {i for i, _ in wanted}) >= 9


def test_an_index_says_so_when_the_filter_leaves_too_few(tmp_path: Path) -> None:
    rows, ids = unit_rows(500), np.arange(500, dtype=np.int64)
    file = vectors.index_file(tmp_path, "default")
    vectors.fold(file, ids, rows)
    assert vectors.approximate(file, rows[0], 10, ids[:3]) is None


def test_a_rebuilt_index_is_the_same_to_the_byte(tmp_path: Path) -> None:
    rows, ids = unit_rows(600), np.arange(600, dtype=np.int64)
    for name in ("one", "two"):
        for start in (0, 300):
            vectors.fold(vectors.index_file(tmp_path, name), ids[start : start + 300], rows[start : start + 300])
    assert vectors.index_file(tmp_path, "one").read_bytes() == vectors.index_file(tmp_path, "two").read_bytes()
