"""The text indexes of many scopes: made at once, few of them open, and the same as one that is written row by row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from amr.store import database, text
from amr.store.rows import Batch, ReadyNode, ReadyRows
from amr.store.text_indexes import TextIndexes
from amr.write.events import world_node

ROWS = [
    (number, f"the {thing} is on the shelf {number}") for number, thing in enumerate(["cup", "oboe", "猫猫", "cup"])
]


def everything(ids: text.Ids) -> list[bool]:
    return [True] * len(ids)


def turn(node_id: int, scope: str, words: str) -> ReadyNode:
    return ReadyNode(node_id, "turn", scope, 0, 0, 0, 0, 0, 0, 0, None, words, "{}", "00", 0)


def batch(scope: str, *turns: tuple[int, str]) -> Batch:
    rows = ReadyRows(nodes=[turn(node_id, scope, words) for node_id, words in turns])
    return Batch(nodes=[world_node(turns[0][0] - 1, "scope", scope, None, "", None)], ready=rows)


@pytest.mark.parametrize("in_memory", [True, False])
def test_an_index_made_at_once_ranks_as_one_written_row_by_row(
    in_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not in_memory:
        monkeypatch.setattr(text, "_MEMORY", tmp_path / "nowhere")
    one, other = text.text_directory(tmp_path, "one"), text.text_directory(tmp_path, "other")
    writer = text.TextWriter(one)
    writer.add(ROWS)
    writer.commit(9)
    writer.close()
    text.build(other, ROWS, 9, text.scratch_folder(tmp_path))
    assert text.indexed_through(other) is None
    text.adopt(other)
    assert text.indexed_through(one) == text.indexed_through(other) == 9
    for words in ("cup", "shelf", "猫猫"):
        assert text.search(one, words, 5, everything) == text.search(other, words, 5, everything) != []
    text.clear(tmp_path)


def test_where_there_is_no_room_in_memory_it_is_made_on_the_disk(tmp_path: Path) -> None:
    place, scratch = text.text_directory(tmp_path, "one"), tmp_path / "full"
    scratch.write_text("not a folder")
    text.build(place, ROWS, 3, scratch)
    text.adopt(place)
    assert [node_id for node_id, _ in text.search(place, "oboe", 5, everything)] == [1]


def test_rows_of_many_scopes_are_found_in_their_own(tmp_path: Path) -> None:
    database.create(tmp_path, "test:8")
    indexes = TextIndexes(tmp_path, {})
    for first in (1, 101):
        scopes = [f"scope {number}" for number in range(12)]
        for number, scope in enumerate(scopes):
            added = indexes.add(batch(scope, (first + 2 * number, f"Ann: the kayak of {number}")))
            assert [one.is_new for one in added.values()] == [first == 1]
            indexes.commit(scope, added[scope])
        indexes.rest()
    indexes.close()
    for number, scope in enumerate(scopes):
        found = text.search(text.text_directory(tmp_path, scope), "kayak", 5, everything)
        assert [node_id for node_id, _ in found] == [1 + 2 * number, 101 + 2 * number]


def test_vectors_are_counted_for_their_scopes(tmp_path: Path) -> None:
    one = batch("a", (1, "x"), (2, "y"))
    one.vectors = [(1, "text", np.zeros(2, np.float32)), (2, "text", np.zeros(2, np.float32))]
    indexes = TextIndexes(tmp_path, {})
    assert indexes.add(one)["a"].vectors == 2
    indexes.close()


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path: Path) -> None:
    place = text.text_directory(tmp_path, "one")
    text.build(place, ROWS, 3, text.scratch_folder(tmp_path))
    left = [*(tmp_path / "text").iterdir()]
    assert left and not place.exists()
    TextIndexes(tmp_path, {}).close()
    assert not any(path.exists() for path in left)
    scratch = text.scratch_folder(tmp_path)
    assert scratch is None or not scratch.exists()
