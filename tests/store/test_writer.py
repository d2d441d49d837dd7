"""Commits are whole, roots depend on content alone, passes replace one another when they are finished."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from amr.errors import BadInput
from amr.store import database
from amr.store.rows import PassRow, View
from amr.store.writer import writing
from tests.support.memories import EMBEDDER, Film, said, unit


def root(directory: Path) -> str:
    with database.reading(directory) as snapshot:
        return snapshot.root_hash()


def texts(directory: Path, view: View | None = None) -> list[str]:
    with database.reading(directory) as snapshot:
        nodes = snapshot.nodes(snapshot.visible(view or View()))
    return [nodes[i].text for i in sorted(nodes)]


def test_equal_content_gives_equal_roots_whatever_the_commits(tmp_path: Path) -> None:
    with writing(tmp_path / "one", "test", EMBEDDER) as writer:
        film = Film(writer)
        film.clip(0, said("a"))
        film.clip(1, said("b"))
    for i in range(2):
        with writing(tmp_path / "two", "test", EMBEDDER) as writer:
            film = Film(writer) if i == 0 else film_again(writer, film)
            film.clip(i, said("ab"[i]))
    assert root(tmp_path / "one") == root(tmp_path / "two")


def film_again(writer: object, old: Film) -> Film:
    film = Film.__new__(Film)
    film.__dict__.update(old.__dict__)
    film.writer = writer  # type: ignore[assignment]
    return film


def test_a_late_clip_is_spliced_in_and_gives_the_root_of_a_run_in_order(tmp_path: Path) -> None:
    for name, order in (("in order", (0, 1, 2)), ("late", (0, 2, 1)), ("first last", (2, 1, 0))):
        with writing(tmp_path / name, "test", EMBEDDER) as writer:
            film = Film(writer)
            for index in order:
                film.clip(index, said(f"clip {index}"), said(f"clip {index}, later", start=5, end=6))
    assert root(tmp_path / "in order") == root(tmp_path / "late") == root(tmp_path / "first last")
    with database.reading(tmp_path / "late") as snapshot:
        nodes, edges = snapshot.counts()
    assert nodes["event"] == 6
    assert edges == {"temporal": 5}


def test_a_staged_pass_is_unseen_until_it_is_finished_and_then_replaces_the_other(tmp_path: Path) -> None:
    with writing(tmp_path, "test", EMBEDDER) as writer:
        film = Film(writer)
        film.clip(0, said("as first seen"))
        before = root(tmp_path)
        second = film_again(writer, film)
        second.perceive_anew(PassRow(writer.new_id("passes"), film.source.source_id, "other", "s", 5000, "staged"))
        second.clip(0, said("as seen better"))
        assert root(tmp_path) == before
        assert texts(tmp_path) == ["as first seen"]
        committed = database_commits(tmp_path)
        writer.finish_pass(film.source, second.current, [film.current])
    assert texts(tmp_path) == ["as seen better"]
    assert texts(tmp_path, View(known_at=committed - 1)) == ["as first seen"]
    with writing(tmp_path / "fresh", "test", EMBEDDER) as writer:
        Film(writer).clip(0, said("as seen better"))
    assert root(tmp_path) == root(tmp_path / "fresh")


def database_commits(directory: Path) -> int:
    with database.reading(directory) as snapshot:
        return snapshot.commits()


def test_as_of_shows_only_what_had_been_seen(tmp_path: Path) -> None:
    with writing(tmp_path, "test", EMBEDDER) as writer:
        film = Film(writer)
        for index in range(3):
            film.clip(index, said(f"clip {index}"))
    assert texts(tmp_path, View(as_of=19_999)) == ["clip 0"]
    assert texts(tmp_path, View(as_of=20_000)) == ["clip 0", "clip 1"]
    assert texts(tmp_path, View(from_ms=10_000, to_ms=10_000)) == ["clip 1"]


def test_scopes_do_not_see_each_other(tmp_path: Path) -> None:
    with writing(tmp_path, "test", EMBEDDER) as writer:
        Film(writer, scope="mine").clip(0, said("mine"))
        Film(writer, scope="yours").clip(0, said("yours"))
    assert texts(tmp_path, View(scope="mine")) == ["mine"]
    with database.reading(tmp_path, "mine") as snapshot:
        assert snapshot.search_text("mine", "yours", snapshot.visible(View(scope="mine")), 5) == []


def test_deleted_indexes_come_back_with_the_same_answers(tmp_path: Path) -> None:
    with writing(tmp_path, "test", EMBEDDER) as writer:
        film = Film(writer)
        for index in range(30):
            film.clip(index, said(f"I put the phone on table {index}", obj="phone"))

    def answers() -> object:
        with database.reading(tmp_path, "default") as snapshot:
            ids = snapshot.visible(View())
            found = snapshot.search_text("default", "phone on table 7", ids, 5)
            return found, snapshot.search_vectors("default", unit(12), ids, 5)

    before = answers()
    shutil.rmtree(tmp_path / "text")
    shutil.rmtree(tmp_path / "vectors", ignore_errors=True)
    assert answers() == before


def test_an_index_left_behind_by_a_kill_is_caught_up(tmp_path: Path) -> None:
    with writing(tmp_path, "test", EMBEDDER) as writer:
        film = Film(writer)
        film.clip(0, said("the kettle"))
    old = shutil.copytree(tmp_path / "text", tmp_path / "kept")
    with writing(tmp_path, "test", EMBEDDER) as writer:
        film_again(writer, film).clip(1, said("the violin"))
    shutil.rmtree(tmp_path / "text")
    shutil.move(old, tmp_path / "text")
    with database.reading(tmp_path, "default") as snapshot:
        ids = snapshot.visible(View())
        assert len(snapshot.search_text("default", "violin", ids, 5)) == 1
        assert len(snapshot.search_text("default", "kettle", ids, 5)) == 1


def test_a_note_that_lags_behind_its_index_does_not_double_rows(tmp_path: Path) -> None:
    with writing(tmp_path, "test", EMBEDDER) as writer:
        film = Film(writer)
        film.clip(0, said("the kettle"))
        film.clip(1, said("the kettle again"))
    note = tmp_path / "text" / "default" / "indexed-through"
    note.write_text(str(int(note.read_text()) - 1))
    with database.reading(tmp_path, "default") as snapshot:
        assert len(snapshot.search_text("default", "kettle", snapshot.visible(View()), 5)) == 2


def test_a_memory_of_a_newer_amr_is_left_alone(tmp_path: Path) -> None:
    with writing(tmp_path, "test", EMBEDDER) as writer:
        Film(writer).clip(0, said("a"))
    with duckdb.connect(str(tmp_path / "memory.duckdb")) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'format_version'")
    before = (tmp_path / "memory.duckdb").read_bytes()
    with pytest.raises(BadInput, match="newer amr"), writing(tmp_path, "test", EMBEDDER):
        pass
    assert (tmp_path / "memory.duckdb").read_bytes() == before


def test_another_embedder_is_refused(tmp_path: Path) -> None:
    with writing(tmp_path, "test", EMBEDDER) as writer:
        Film(writer).clip(0, said("a"))
    with pytest.raises(BadInput, match="embedder"), writing(tmp_path, "test", "other:256"):
        pass


def test_a_second_writer_waits_and_then_names_the_first(tmp_path: Path) -> None:
    with (
        writing(tmp_path, "amr ingest walk.mp4", EMBEDDER),
        pytest.raises(BadInput, match=r"amr ingest walk\.mp4"),
        writing(tmp_path, "test", EMBEDDER, wait_seconds=0.2),
    ):
        pass


def test_a_failed_transaction_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with writing(tmp_path, "test", EMBEDDER) as writer:
        film = Film(writer)
        film.clip(0, said("kept"))
        before = root(tmp_path)
        with pytest.raises(OverflowError):
            film.clip(2**70, said("never written"))
        assert root(tmp_path) == before
    assert texts(tmp_path) == ["kept"]
