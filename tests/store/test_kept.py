"""A process that asks again keeps what it read, and never answers from what has changed since."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from amr.models.embedding import embed
from amr.store import database, kept
from amr.store.rows import View
from amr.store.snapshot import Snapshot
from tests.retrieve.lives import MORNING, QUIET, captions, live, settings

WITH_MORE = "from pathlib import Path; import sys; from tests.retrieve.lives import QUIET, live; " + (
    "live(Path(sys.argv[1]), QUIET, 'later.srt')"
)


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    kept.forget()
    yield
    kept.forget()


def texts(directory: Path, scope: str = "default", view: View | None = None) -> set[str]:
    with database.reading(directory, scope) as snapshot:
        return {node.text for node in snapshot.nodes(snapshot.visible(view or View(scope=scope))).values()}


def is_kept(directory: Path, scope: str = "default") -> bool:
    with database.reading(directory, scope) as snapshot:
        return snapshot.kept is not None


def test_a_second_question_in_the_same_state_opens_no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = live(tmp_path, MORNING)
    assert not is_kept(memory.directory)
    assert is_kept(memory.directory)

    def closed(*_: object) -> None:
        raise AssertionError("the database was opened")

    monkeypatch.setattr(database, "connected", closed)
    assert len(texts(memory.directory)) == len(MORNING)


def test_what_another_process_commits_is_seen_by_the_next_question(tmp_path: Path) -> None:
    memory = live(tmp_path, MORNING)
    assert is_kept(memory.directory) or is_kept(memory.directory)
    assert "I sit down on the sofa." not in texts(memory.directory)
    subprocess.run([sys.executable, "-c", WITH_MORE, str(tmp_path)], check=True)
    assert "I sit down on the sofa." in texts(memory.directory)
    assert "I sit down on the sofa." in texts(memory.directory)


def test_a_text_index_that_is_deleted_is_made_again(tmp_path: Path) -> None:
    memory = live(tmp_path, MORNING)
    assert is_kept(memory.directory) or is_kept(memory.directory)
    shutil.rmtree(memory.directory / "text")
    with database.reading(memory.directory, "default") as snapshot:
        assert snapshot.search_text("default", "fridge", snapshot.visible(View()), 5)
    assert (memory.directory / "text" / "default").is_dir()


def test_two_scopes_are_kept_apart(tmp_path: Path) -> None:
    memory = live(tmp_path, MORNING)
    memory.ingest(captions(tmp_path / "quiet.srt", QUIET), settings(), scope="other")
    for _ in range(2):
        assert len(texts(memory.directory)) == len(MORNING)
        assert len(texts(memory.directory, "other")) == len(QUIET)


def answers(snapshot: Snapshot, view: View) -> list[object]:
    """Everything that a question asks of a snapshot."""
    ids = snapshot.visible(view)
    vector = embed(["where is my phone"])[0]
    some = ids[::3]
    return [
        ids.tolist(),
        sorted((node.node_id, node.text, str(node.payload), node.hash) for node in snapshot.nodes(ids).values()),
        snapshot.neighbours(some.tolist(), view),
        snapshot.moments(some, view).tolist(),
        snapshot.mentioning(view.scope, ["phone", "mug"], "object").tolist(),
        snapshot.mentioning(view.scope, ["wearer"]).tolist(),
        snapshot.handles(view.scope, "person"),
        snapshot.search_text(view.scope, "the phone on the table", ids, 5),
        snapshot.latest_with(view.scope, "phone", ids, 2).tolist(),
        snapshot.search_vectors(view.scope, vector, ids, 5),
        np.round(snapshot.cosines(some, vector), 3).tolist(),
        snapshot.clip_uris(0, 0, [0, 1, 99]),
    ]


@pytest.mark.parametrize(
    "view",
    [
        View(),
        View(as_of=30_000),
        View(from_ms=20_000, to_ms=45_000),
        View(source_id=0, as_of=45_000),
        View(kinds=("source", "scope")),
        View(source_id=9),
        View(known_at=0),
    ],
)
def test_what_is_kept_answers_as_the_database_does(tmp_path: Path, view: View) -> None:
    memory = live(tmp_path, MORNING)
    with database.reading(memory.directory, "default") as snapshot:
        assert snapshot.kept is None
        read = answers(snapshot, view)
    with database.reading(memory.directory, "default") as snapshot:
        assert snapshot.kept is not None
        assert answers(snapshot, view) == read


def test_a_question_whose_database_changes_under_way_starts_from_nothing(tmp_path: Path) -> None:
    memory = live(tmp_path, MORNING)
    is_kept(memory.directory)
    is_kept(memory.directory)
    live(tmp_path, QUIET, "later.srt")
    assert not is_kept(memory.directory)
    assert is_kept(memory.directory)
