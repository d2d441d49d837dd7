"""What an answer is taken from: the sort of evidence that a question asks for, in its words."""

from __future__ import annotations

from pathlib import Path

from tests.retrieve.lives import live, settings

TALK = [
    (1, "Nora: When does the ferry leave?"),
    (3, "Omar: It leaves at half past six."),
    (5, "Omar: From the second pier."),
    (60, "I feed the goat."),
    (90, "Nora: The goat was vaccinated two weeks ago."),
    (94, "I talk to Nora about the goat."),
]


def test_what_somebody_said_in_several_remarks_is_quoted_whole(tmp_path: Path) -> None:
    answer = live(tmp_path, TALK).ask("What did Omar say about when the ferry leaves?", settings()).answer
    assert "half past six" in answer
    assert "second pier" in answer
    assert "When does" not in answer


def test_when_somebody_said_that_something_was_asks_for_their_words(tmp_path: Path) -> None:
    answer = live(tmp_path, TALK).ask("When did Nora say the goat was vaccinated?", settings()).answer
    assert "two weeks ago" in answer


def test_when_something_was_done_asks_for_a_clock_time(tmp_path: Path) -> None:
    answer = live(tmp_path, TALK).ask("When did I feed the goat?", settings()).answer
    assert answer.startswith("00:01:00: ")
