"""Events are scored together with the half minute and the three minutes of their source around them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as tried
from hypothesis import strategies as st
from numpy.typing import NDArray

from amr.memory import Filters
from amr.retrieve.anchors import other_words
from amr.retrieve.event_scales import Timeline, Windows, timeline
from amr.retrieve.question import read_question
from amr.retrieve.scales import bm25, highest, rarity
from amr.store.rows import View
from tests.retrieve.lives import captions, live, settings

SCALES = (("half_minute", 30.0), ("three_minutes", 180.0))


@dataclass
class Lived:
    """Events of sources, as a snapshot tells of them."""

    source: NDArray[np.int64]
    seconds: NDArray[np.int64]

    def sources_of(self, ids: NDArray[np.int64], view: View) -> NDArray[np.int64]:
        return self.source[ids]

    def moments(self, ids: NDArray[np.int64], view: View) -> NDArray[np.int64]:
        return self.seconds[ids] * 1000

    def derived(self, key: object, make):  # type: ignore[no-untyped-def]
        return make()


def line_of(events: list[tuple[int, int]]) -> Timeline:
    """Events by source and second, all visible, with ids from 0."""
    lived = Lived(np.array([source for source, _ in events]), np.array([at for _, at in events]))
    return timeline(lived, View(), np.arange(len(events)), SCALES)  # type: ignore[arg-type]


def places(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def test_an_event_alone_in_its_window_scores_as_by_itself() -> None:
    line = line_of([(1, 0), (1, 600), (1, 1200), (1, 1800)])
    found = Windows(line, [places([0, 1]), places([1, 3])], [1.0, 1.0]).shares(places([0, 1, 2, 3]))
    rare = rarity(np.array([2.0, 2.0]), 4)
    counts = np.array([[1, 0], [1, 1], [0, 0], [0, 1]], np.float64)
    own = bm25(counts, np.ones(4), rare).sum(axis=1) / highest(rare)
    assert found.keys() == {"half_minute", "three_minutes"}
    for shares in found.values():
        assert shares == pytest.approx(own, abs=1e-6)


@tried(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 400)), min_size=1, max_size=30),
    st.sets(st.integers(0, 29)),
)
def test_a_window_has_what_its_events_have_and_nothing_of_another_source(
    events: list[tuple[int, int]], having: set[int]
) -> None:
    held = places(sorted(having & set(range(len(events)))))
    everything = np.arange(len(events))
    found = Windows(line_of(events), [held], [1.0]).shares(everything)
    rare = rarity(np.array([max(len(held), 1)], np.float64), len(events))
    for name, lasts in SCALES:
        near = [
            [sum(events[h][0] == source and abs(events[h][1] - at) <= lasts / 2 for h in held)] for source, at in events
        ]
        worth = bm25(np.array(near, np.float64), np.ones(len(events)), rare)[:, 0] / highest(rare)
        assert found[name] == pytest.approx(worth, abs=1e-6)


def test_a_word_that_counts_for_less_makes_a_window_worth_less() -> None:
    line = line_of([(1, 0), (1, 600), (1, 1200)])
    held = [places([0]), places([1])]
    shares = Windows(line, held, [1.0, 0.5]).shares(places([0, 1, 2]))["half_minute"]
    assert shares[0] == pytest.approx(2 * shares[1], abs=1e-5)
    assert shares[2] == 0


def test_only_words_that_the_evidence_must_have_make_an_anchor_and_windows_put_them_in_order() -> None:
    line = line_of([(1, 0), (1, 600), (1, 605), (1, 1200), (1, 1800)])
    windows = Windows(line, [places([0, 1, 2, 4]), places([0, 3])], [1.0, 0.5])
    assert windows.best(10) == [0, 2, 1, 4]  # both words; two of the first word, the last one first; one
    assert windows.best(2) == [0, 2]


def test_without_a_word_of_the_question_no_window_is_worth_anything() -> None:
    shares = Windows(line_of([(1, 0), (1, 5)]), [places([])], [1.0]).shares(places([0, 1]))
    assert all((values == 0).all() for values in shares.values())
    assert Windows(line_of([]), [], []).shares(places([]))["half_minute"].shape == (0,)


def test_words_that_a_question_is_asked_with_are_its_other_words() -> None:
    asked = read_question("What do I usually show everyone on my phone?")
    assert [term.word for term in asked.terms] == ["phone"]
    assert other_words(asked) == ["usually", "show", "everyone"]
    assert other_words(read_question("Where is my phone?")) == []


TALK = ["I drink some water.", "I look at the window.", "I scratch my head.", "Omar: Ninety euros.", "I laugh."]
"""What goes on after somebody has shown a thing, every three seconds."""


def talked(things: dict[int, str]) -> list[tuple[int, str]]:
    """Things that are shown at some seconds, and what goes on after each."""
    return [
        cue
        for second, thing in things.items()
        for cue in [
            (second, f"Nora: Here is the {thing}."),
            *((second + 3 * n, text) for n, text in enumerate(TALK, 1)),
        ]
    ]


TWICE = talked({10: "telescope", 36_600: "bicycle"})
PRICE = "What did Omar say about the telescope?"


def test_an_event_that_says_little_is_found_by_the_half_minute_around_it(tmp_path: Path) -> None:
    found = live(tmp_path, TWICE).query(PRICE, settings()).evidence
    prices = [piece.node.t_start_ms for piece in found if "Ninety" in piece.node.text]
    assert prices == [22_000, 36_612_000]


def test_what_was_to_come_is_in_no_window(tmp_path: Path) -> None:
    memory = live(tmp_path, [(10, "I put it on the shelf."), (14, "I pick up the telescope."), (20, "I sit down.")])
    view = Filters(as_of="13")
    found = memory.query("Where is the telescope?", settings(), view)
    assert not found.found
    assert all("telescope" not in piece.node.text for piece in found.evidence)


def test_other_scopes_and_what_a_process_keeps_change_nothing(tmp_path: Path) -> None:
    memory = live(tmp_path, TWICE)

    def ranked() -> list[tuple[str, float]]:
        return [(piece.node.text, piece.score) for piece in memory.query(PRICE, settings()).evidence]

    alone = [ranked() for _ in range(3)]
    assert alone[0] == alone[1] == alone[2]
    other = captions(tmp_path / "other.srt", [(at, "Nora: Here is the telescope.") for at in (11, 15, 36_601)])
    memory.ingest(other, settings(), scope="other")
    assert [ranked() for _ in range(3)] == alone
