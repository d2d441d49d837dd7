"""Windows and sessions are scored from their leaves as if each stood in an index of its own."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amr.retrieve.scales import Directions, Line, bm25, rarity
from amr.store import text

TURNS = [
    "the cat sat on the cat mat",
    "a dog barked",
    "the cat and the dog slept",
    "nothing else happened",
    "dog dog dog",
]


def line_of(sizes: list[int], lengths: list[int] | None = None) -> Line:
    """Sessions of so many leaves each."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    return Line(group, np.asarray(lengths if lengths else np.ones(len(group)), np.float64))


def indexed(folder: Path, texts: list[str]) -> text.Searcher:
    writer = text.TextWriter(folder)
    writer.add(enumerate(texts))
    writer.commit(len(texts) - 1)
    writer.close()
    return text.Searcher(folder)


def counts_of(texts: list[str], stems: list[str]) -> np.ndarray:
    return np.array([[text.english_stems(one).count(stem) for stem in stems] for one in texts], np.float64)


def lengths_of(texts: list[str]) -> np.ndarray:
    return np.array([len(text.english_stems(one)) for one in texts], np.float64)


def test_a_leaf_scores_as_in_the_index(tmp_path: Path) -> None:
    stems = ["cat", "dog"]
    counts, lengths = counts_of(TURNS, stems), lengths_of(TURNS)
    scores = bm25(counts, lengths, rarity((counts > 0).sum(axis=0), len(TURNS))).sum(axis=1)
    found = dict(indexed(tmp_path, TURNS).search("cat dog", len(TURNS), lambda ids: np.ones(len(ids), bool)))
    assert found.keys() == {0, 1, 2, 4}
    assert [scores[row] for row in found] == pytest.approx(list(found.values()), abs=1e-3)


def test_a_window_scores_as_if_its_leaves_were_one_text() -> None:
    line = Line(np.array([0, 0, 0, 1, 1]), lengths_of(TURNS))
    counts = counts_of(TURNS, ["cat", "dog"])
    windows = [" ".join(TURNS[first:end]) for first, end in ((0, 2), (0, 3), (1, 3), (3, 5), (3, 5))]
    rare = np.array([1.0, 2.0])
    composed = bm25(line.around(counts, (1, 1)), line.window((1, 1))[2], rare)
    assert composed == pytest.approx(bm25(counts_of(windows, ["cat", "dog"]), lengths_of(windows), rare))


def test_how_often_a_word_is_in_a_row_can_be_told_from_its_score(tmp_path: Path) -> None:
    rows, filled = indexed(tmp_path, TURNS).having("dog")
    norm = 1.2 * (0.25 + 0.75 * lengths_of(TURNS)[rows] / lengths_of(TURNS).mean())
    assert rows.tolist() == [1, 2, 4]
    assert filled * norm / (1 - filled) == pytest.approx([1, 1, 3], abs=1e-3)
    assert not len(indexed(tmp_path, TURNS).having("unicorn")[0])


sessions = st.lists(st.integers(1, 5), min_size=1, max_size=6)


@settings(deadline=None, max_examples=40)
@given(sessions, st.integers(0, 3), st.integers(0, 3), st.randoms(use_true_random=False))
def test_windows_hold_their_leaves_and_never_leave_the_session(
    sizes: list[int], before: int, after: int, chance: Random
) -> None:
    line = line_of(sizes)
    values = np.array([float(chance.randint(0, 9)) for _ in line.group])
    for at, session in enumerate(line.group):
        inside = [n for n in range(at - before, at + after + 1) if 0 <= n < len(values) and line.group[n] == session]
        assert line.around(values, (before, after))[at] == sum(values[inside])
        assert line.before(values)[at] == (values[at - 1] if line.ordinals[at] else 0)
    assert line.around(values, (0, 0)) == pytest.approx(values)
    assert line.totals(values).sum() == values.sum()
    assert line.peaks(values).max() == values.max()


@settings(deadline=None, max_examples=40)
@given(sessions)
def test_a_window_points_where_its_leaves_point_together(sizes: list[int]) -> None:
    line = line_of(sizes)
    vectors = np.random.default_rng(0).normal(size=(len(line.group), 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    question = vectors[0]
    directions = Directions(line, vectors)
    along = directions.leaves(question)
    assert directions.windows(along, (0, 0)) == pytest.approx(along, abs=1e-4)
    for session, cosine in enumerate(directions.sessions(along)):
        together = vectors[line.group == session].sum(axis=0)
        assert cosine == pytest.approx(together @ question / np.linalg.norm(together), abs=1e-3)
