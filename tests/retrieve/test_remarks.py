"""What was said about something, though the words of the question are spread over a conversation."""

from __future__ import annotations

from pathlib import Path

import pytest

from amr.memory import Memory
from tests.retrieve.lives import live, settings

TALK = [
    (1, "Nora: You may join our sailing club."),
    (4, "Nora: Just forty euros a year."),
    (6, "Omar: What a club!"),
    (60, "Omar: What tree is this?"),
    (62, "Nora: That is a birch."),
    (120, "Omar: Which ferry do we take?"),
    (123, "Mara: The early one."),
    (200, "Mara: Can we afford the telescope?"),
    (203, "Omar: How much is it?"),
    (205, "Mara: Ninety euros."),
    (300, "Omar: Where is the hammer?"),
    (303, "Nora: The hammer is in the shed."),
]


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    return live(tmp_path_factory.mktemp("talk"), TALK)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("How much is the fee Nora joked about for joining the sailing club?", "forty euros"),
        ("How much does the telescope cost according to Mara?", "Ninety euros"),
        ("What tree did Nora say it was?", "birch"),
        ("What did Mara say when Omar asked which ferry we take?", "early one"),
        ("Who knew where the hammer was when Omar asked?", "Nora says"),
    ],
)
def test_the_answer_may_share_no_word_with_the_question(talk: Memory, question: str, words: str) -> None:
    assert words in talk.ask(question, settings()).answer


@pytest.mark.parametrize(
    "question",
    [
        "How much is the fee Omar joked about for joining the chess club?",
        "What did Mara say about the birch?",
        "How much does the submarine cost according to Mara?",
    ],
)
def test_words_of_others_or_about_other_things_are_no_answer(talk: Memory, question: str) -> None:
    assert not talk.ask(question, settings()).found


def test_a_price_is_no_answer_to_how_much_of_a_thing(tmp_path: Path) -> None:
    memory = live(
        tmp_path, [(1, "Nora: The flour for the cake cost nine euros."), (9, "Nora: 300 grams of flour in the cake.")]
    )
    answer = memory.ask("How much flour did Nora say to put in the cake?", settings()).answer
    assert "300 grams" in answer
    assert "euros" not in answer
