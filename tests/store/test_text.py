"""The text index finds English by stem and Chinese by character pairs, and never parses a user's text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amr.store import text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = text.text_directory(tmp_path, "a/../life")
    writer = text.TextWriter(folder)
    rows = ["I put the phones on the table", "Lucia opens the fridge", "他们在找一支笔", "phones, tables and phones"]
    writer.add(enumerate(rows))
    writer.commit(3)
    writer.close()
    return folder


def everything(ids: list[int]) -> list[bool]:
    return [True] * len(ids)


def test_words_are_found_by_their_stem(folder: Path) -> None:
    assert [node_id for node_id, _ in text.search(folder, "phone", 10, everything)] == [3, 0]


def test_chinese_is_found_by_any_two_neighbouring_characters(folder: Path) -> None:
    assert [node_id for node_id, _ in text.search(folder, "谁在找笔?", 10, everything)] == [2]


def test_a_filter_drops_rows_but_does_not_change_scores(folder: Path) -> None:
    scores = dict(text.search(folder, "phone", 10, everything))
    kept = text.search(folder, "phone", 10, lambda ids: [i == 0 for i in ids])
    assert kept == [(0, scores[0])]


def test_a_filter_that_keeps_one_row_of_many_still_finds_it(tmp_path: Path) -> None:
    writer = text.TextWriter(tmp_path)
    writer.add((i, "the same words each time") for i in range(3000))
    writer.commit(2999)
    writer.close()
    assert [row[0] for row in text.search(tmp_path, "words", 1, lambda ids: [i == 2871 for i in ids])] == [2871]


@given(st.text(max_size=40))
@settings(max_examples=60, deadline=None)
def test_no_text_of_a_user_breaks_the_search(tmp_path_factory: pytest.TempPathFactory, query: str) -> None:
    folder = tmp_path_factory.getbasetemp() / "shared-index"
    if not folder.exists():
        writer = text.TextWriter(folder)
        writer.add([(0, "AND OR NOT (phone) +table -mug")])
        writer.commit(0)
        writer.close()
    text.search(folder, query, 5, everything)


def test_a_scope_name_cannot_leave_the_memory(tmp_path: Path) -> None:
    assert text.text_directory(tmp_path, "../../etc").parent == tmp_path / "text"


def test_a_missing_or_half_made_index_is_known(tmp_path: Path, folder: Path) -> None:
    assert text.indexed_through(folder) == 3
    assert text.indexed_through(tmp_path / "nothing") is None
    (folder / "meta.json").unlink()
    assert text.indexed_through(folder) is None
