"""The FAISS index grows in chunks beside the commits: always the same chunks, and a chunk that fails is told."""

from __future__ import annotations

from pathlib import Path

import faiss
import numpy as np
import pytest

from amr.errors import BadInput
from amr.store import database, vectors
from amr.store.rows import View
from amr.store.writer import writing
from tests.support.memories import EMBEDDER, Film, said, unit

CLIPS = 45


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "EXACT_ROWS", 20)
    monkeypatch.setattr(vectors, "FOLD_ROWS", 10)


def write(directory: Path, clips: int = CLIPS) -> None:
    with writing(directory, "test", EMBEDDER) as writer:
        film = Film(writer)
        for index in range(clips):
            film.clip(index, said(f"I put the phone on table {index}", obj="phone"))


def test_a_writer_that_has_ended_leaves_no_chunk_to_be_folded(tmp_path: Path) -> None:
    write(tmp_path)
    file = vectors.index_file(tmp_path, "default")
    index = faiss.read_index(str(file))
    assert index.ntotal == 40
    held = faiss.vector_to_array(index.id_map)
    assert list(held) == sorted(held)
    assert vectors.folded_through(file) == held[-1]


def test_the_index_is_the_same_however_long_a_chunk_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "beside")
    with monkeypatch.context() as patch:
        # Every chunk is waited for before the next commit.
        patch.setattr("concurrent.futures.Future.done", lambda future: future.exception() is None)
        write(tmp_path / "in turn")
    files = [vectors.index_file(tmp_path / name, "default") for name in ("beside", "in turn")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_what_is_folded_and_what_is_not_is_searched_as_one(tmp_path: Path) -> None:
    write(tmp_path)
    with database.reading(tmp_path, "default") as snapshot:
        ids = snapshot.visible(View())
        found = snapshot.search_vectors("default", unit(12), ids, 5)
        stored, rows = snapshot.vectors(ids)
    assert found == vectors.exact(stored, rows, np.asarray(unit(12), np.float32), 5)


def test_a_chunk_that_cannot_be_written_is_told_and_made_up_for_by_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(vectors, "fold", full)
        with pytest.raises(BadInput, match="disk"):
            write(tmp_path)
    with writing(tmp_path, "test", EMBEDDER) as writer:
        Film(writer, key="another").clip(0, said("more"))
    assert vectors.folded_through(vectors.index_file(tmp_path, "default")) >= 0
