from __future__ import annotations

from pathlib import Path

import pytest

from amr.memory import Filters, Memory
from tests.retrieve.lives import live, settings

GARDEN = [
    (1, "I take the rake."),
    (4, "I put the rake on the bench."),
    (7, "I open the shed."),
    (10, "Mara: Is there any string?"),
    (12, "I pick up the watering can."),
    (15, "I water the ferns."),
    (18, "I put the watering can in the shed."),
    (21, "I close the shed."),
    (24, "I take the rake."),
    (27, "I rake the leaves."),
    (30, "I place the rake against the wall."),
    (33, "Mara gives me the string."),
    (36, "I turn around."),
    (38, "I tie up the tomatoes."),
    (41, "I sit down on the bench."),
]


@pytest.fixture(scope="module")
def garden(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    return live(tmp_path_factory.mktemp("garden"), GARDEN)


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("What did I do right after closing the shed?", "I take the rake."),
        ("What did I do right after I closed the shed?", "I take the rake."),
        ("After I closed the shed, what did I do?", "I take the rake."),
        ("What did I do right before watering the ferns?", "I pick up the watering can."),
    ],
)
def test_the_next_deed_is_quoted_with_the_event_it_follows(garden: Memory, question: str, quoted: str) -> None:
    answer = garden.ask(question, settings())
    assert answer.answer.startswith(f'"{quoted}"')
    assert answer.evidence[0].node.text == quoted
    assert len(answer.claims) >= 2


def test_the_hop_along_the_temporal_channel_is_shown(garden: Memory) -> None:
    answer = garden.ask("What did I do right after closing the shed?", settings())
    steps = answer.evidence[0].path
    assert [step.channel for step in steps] == ["temporal"]
    assert steps[0].dst == answer.evidence[0].node.node_id
    assert steps[0].src == answer.evidence[1].node.node_id


def test_the_last_time_is_meant_unless_the_first_is_asked_for(garden: Memory) -> None:
    last = garden.ask("What did I do right after taking the rake?", settings())
    first = garden.ask("What did I do right after I first took the rake?", settings())
    assert last.answer.startswith('"I rake the leaves."')
    assert first.answer.startswith('"I put the rake on the bench."')


def test_what_was_only_said_is_no_deed(garden: Memory) -> None:
    answer = garden.ask("What did I do right after opening the shed?", settings())
    assert answer.answer.startswith('"I pick up the watering can."')


def test_a_slight_movement_does_not_hide_what_was_done(garden: Memory) -> None:
    answer = garden.ask("What did I do right after Mara gave me the string?", settings())
    assert "I tie up the tomatoes." in answer.answer


def test_putting_down_is_not_putting_in(tmp_path: Path) -> None:
    cues = [
        (1, "I put down the pail."),
        (4, "I feed the hens."),
        (8, "I put the pail in the shed."),
        (11, "I close the shed."),
    ]
    answer = live(tmp_path, cues).ask("What did I do right after putting down the pail?", settings())
    assert answer.answer.startswith('"I feed the hens."')


@pytest.mark.parametrize(
    ("question", "begins"),
    [
        ("When did I first take the rake?", "00:00:01"),
        ("When did I last take the rake?", "00:00:24"),
        ("When did I grab the rake the second time?", "00:00:24"),
        ("When did I close the shed?", "00:00:21"),
        ("Where did I first put the rake?", "On the bench"),
        ("Where did I last put the rake?", "Against the wall"),
    ],
)
def test_first_and_last_answer_with_their_time_or_place(garden: Memory, question: str, begins: str) -> None:
    assert garden.ask(question, settings()).answer.startswith(begins)


def test_the_thing_asked_for_is_named_though_only_it_was_told(tmp_path: Path) -> None:
    cues = [
        (1, "I picked up the lantern."),
        (4, "I threw it onto the hay."),
        (8, "I locked the gate."),
        (20, "I ride the horse."),
    ]
    answer = live(tmp_path, cues).ask("What did I throw on the hay just before I locked the gate?", settings())
    assert answer.answer.lower().startswith("lantern")


def test_the_second_deed_of_a_clause_is_where_the_reading_begins(tmp_path: Path) -> None:
    cues = [(1, "I folded the tent."), (4, "Then I put it in the trunk."), (8, "I start the engine.")]
    question = "What did I do right after folding the tent and putting it in the trunk?"
    assert live(tmp_path, cues).ask(question, settings()).answer.startswith('"I start the engine."')


def test_as_of_ends_the_reading(garden: Memory) -> None:
    answer = garden.ask("What did I do right after taking the rake?", settings(), Filters(as_of="00:00:20"))
    assert answer.answer.startswith('"I put the rake on the bench."')


def test_without_the_clause_in_the_memory_nothing_is_made_up(garden: Memory) -> None:
    for question in (
        "What did I do right after putting down the trombone?",
        "What did I do right after opening the aquarium?",
        "When did I last take the chainsaw?",
    ):
        assert not garden.ask(question, settings()).found


def test_another_word_for_the_thing_and_the_deed_is_understood(tmp_path: Path) -> None:
    cues = [(1, "I place the saucepan on the hob."), (5, "I open the refrigerator."), (9, "I chop the leek.")]
    memory = live(tmp_path, cues)
    answer = memory.ask("What did I do right after I put the pan on the stove?", settings())
    assert answer.answer.startswith('"I open the refrigerator."')
    assert memory.ask("When did I open the fridge?", settings()).answer.startswith("00:00:05")
