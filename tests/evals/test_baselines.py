"""Plain search: filters come before ranking, recency breaks in, the first line is the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from amr.evals.asking import Asked
from amr.evals.baselines import Baselines, Unit
from amr.models.embedding import embed

LINES = [
    ("I put the phone on the table.", "a"),
    ("I cut the carrots.", "a"),
    ("I put the phone on the windowsill beside the plant.", "a"),
    ("Someone talks about the weather.", "a"),
    ("I put the phone on the chair.", "b"),
]


@pytest.fixture
def baselines(tmp_path: Path) -> Baselines:
    units = [Unit(text, 10_000 * i, 10_000 * i + 2_000, source, f"line-{i}") for i, (text, source) in enumerate(LINES)]
    return Baselines(units, tmp_path / "index", embed)


def test_bm25_ranks_the_shorter_line_with_the_same_words_first(baselines: Baselines) -> None:
    assert baselines.bm25(Asked("where is the phone", source="a"), 10)[0] == 0


def test_recency_prefers_the_later_of_two_like_lines(baselines: Baselines) -> None:
    asked = Asked("phone", source="a")
    assert baselines.recent(asked, 10)[:2] in ([0, 2], [2, 0])
    assert baselines.recent(Asked("put the phone on the"), 10)[0] == 4


def test_the_dense_lane_finds_without_a_shared_word(baselines: Baselines) -> None:
    assert baselines.dense(Asked("chopping vegetables"), 1) == [1]


def test_nothing_after_the_as_of_or_of_another_source_is_seen(baselines: Baselines) -> None:
    early = Asked("phone", as_of_ms=12_000)
    assert [baselines.bm25(early, 10), baselines.recent(early, 10)] == [[0], [0]]
    assert set(baselines.dense(early, 10)) == {0, 1}
    assert baselines.bm25(Asked("phone", source="b"), 10) == [4]


def test_a_line_is_seen_from_its_end_on(baselines: Baselines) -> None:
    assert baselines.bm25(Asked("phone", as_of_ms=1_999), 10) == []
    assert baselines.bm25(Asked("phone", as_of_ms=2_000), 10) == [0]


def test_the_answer_is_the_first_line_with_its_time_where_one_is_asked_for(baselines: Baselines) -> None:
    system = baselines.systems()["bm25"]
    assert system(Asked("where is the phone"))["answer"] == LINES[0][0]
    assert system(Asked("when did I cut the carrots?"))["answer"] == "00:00:10: I cut the carrots."
    nothing = system(Asked("xylophone"))
    assert (nothing["found"], nothing["answer"], nothing["evidence"]) == (False, "", [])
