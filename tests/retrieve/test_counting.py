from __future__ import annotations

import re
from pathlib import Path

import pytest

from amr.memory import Filters, Memory
from tests.retrieve.lives import captions, live, settings

MARKET = [
    (1, "I open the van."),
    (4, "I give a flyer to Nora."),
    (7, "I give a flyer to Otis."),
    (10, "I close the van."),
    (13, "I open the van."),
    (16, "I hand Nora another flyer."),
    (19, "Nora: I opened the van."),
    (22, "Otis opens the van."),
    (25, "I crack two eggs into the bowl."),
    (28, "I crack an egg."),
    (31, "I try to open the jar."),
    (33, "I open the jar."),
    (36, "I pick up the scanner."),
    (38, "I check the battery."),
    (52, "I pick up the scanner."),
    (54, "I check the battery."),
    (68, "I pick up the scanner."),
    (70, "I check the display."),
]


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """A market day whose lines without a name are narration, whoever they tell of."""
    folder = tmp_path_factory.mktemp("market")
    memory = Memory(folder / "memory")
    narrated = settings().model_copy(update={"captions_kind": "narration"})
    memory.ingest(captions(folder / "market.srt", MARKET), narrated)
    return memory


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("How many times did I open the van?", 2),
        ("How many times did I give Nora a flyer?", 2),
        ("How many times did I close the van?", 1),
        ("How many times did Otis open the van?", 1),
        ("How many eggs did I crack?", 3),
        ("How many people did I hand a flyer to?", 2),
        ("How many times did I open the jar?", 1),
        ("How often did I pick up the scanner?", 3),
    ],
)
def test_distinct_events_are_counted(market: Memory, question: str, number: int) -> None:
    answer = market.ask(question, settings())
    found = re.match(r"\d+", answer.answer)
    assert found is not None, answer.answer
    assert int(found[0]) == number


def test_a_deed_that_is_told_twice_is_one_deed(tmp_path: Path) -> None:
    cues = [
        (1, "I open the safe."),
        (3, "I am opening the safe door."),
        (30, "I open the safe."),
        (32, "I open the safe."),
    ]
    answer = live(tmp_path, cues).ask("How many times did I open the safe?", settings())
    assert answer.answer.startswith("3 times")


def test_every_counted_event_is_evidence(market: Memory) -> None:
    answer = market.ask("How many times did I open the van?", settings())
    assert [one.node.text for one in answer.evidence[:2]] == ["I open the van.", "I open the van."]
    assert len(answer.claims) == 2


def test_the_people_are_named(market: Memory) -> None:
    answer = market.ask("How many people did I hand a flyer to?", settings()).answer
    assert "Nora" in answer
    assert "Otis" in answer


def test_only_what_may_be_seen_counts(market: Memory) -> None:
    answer = market.ask("How many times did I open the van?", settings(), Filters(as_of="00:00:11"))
    assert answer.answer.startswith("1 time:")
    later = market.ask("How many times did I open the van?", settings(), Filters(after="00:00:11"))
    assert later.answer.startswith("1 time:")


@pytest.mark.parametrize(
    "question",
    [
        "How many times did I open the piano?",
        "How many times did I wash the van?",
        "How many people did I hand a helmet to?",
        "How many eggs did I paint?",
    ],
)
def test_what_was_never_done_is_not_found_rather_than_zero(market: Memory, question: str) -> None:
    answer = market.ask(question, settings())
    assert not answer.found
    assert answer.claims == []


def test_what_is_usual_is_the_commonest(market: Memory) -> None:
    answer = market.ask("What do I usually check when I pick up the scanner?", settings())
    assert answer.answer.startswith("Battery, 2 times")


@pytest.mark.parametrize(
    ("question", "begins"),
    [
        ("What do I usually drink?", "Cocoa, 2 times"),
        ("Where do I usually hang my scarf?", "On the hook, 2 times"),
        ("What do I usually do when I lock the stall?", "Count the coin, 2 times"),
    ],
)
def test_habits_of_every_sort_are_the_commonest(tmp_path: Path, question: str, begins: str) -> None:
    cues = [
        (1, "I drink cocoa."),
        (5, "I hang my scarf on the hook."),
        (9, "I lock the stall."),
        (12, "I count the coins."),
        (60, "I drink tea."),
        (65, "I hang my scarf on the chair."),
        (70, "I hang my scarf on the hook."),
        (75, "I drink cocoa."),
        (80, "I lock the stall."),
        (84, "I count the coins."),
        (86, "I wave."),
    ]
    assert live(tmp_path, cues).ask(question, settings()).answer.startswith(begins)


def test_a_number_of_rounds_is_read_from_what_was_told_around_the_game(tmp_path: Path) -> None:
    cues = [
        (1, "I am playing chess with Otis."),
        (10, "I won the first round."),
        (20, "I won again."),
        (30, "We play chess again."),
        (40, "I lost."),
        (900, "I won a voucher."),
    ]
    answer = live(tmp_path, cues).ask("How many rounds of chess did I win?", settings())
    assert answer.answer.startswith("2 rounds of chess")
