"""Earlier times a thing was seen, asked for as people do."""

from __future__ import annotations

import pytest

from amr.config import load_settings
from amr.memory import Filters, Memory
from amr.records import Answer, ClipAnalysis, EventReport, ObjectReport
from amr.retrieve.history import Recalled, read_history
from tests.support.memories import events_jsonl

SEEN = [
    (0, "bowl", "on the table", "The bowl (full): on the table. Alice stirs in it."),
    (10, "bowl", "in the sink", "The bowl (empty): in the sink. Alice stirs in it."),
    (11, "bowl", "in the sink", "The bowl (empty): in the sink. Alice stirs in it."),
    (20, "bowl", "on the shelf", "The bowl (empty): on the shelf. Nobody touches it."),
    (25, "spoon", "in the drawer", "The spoon (clean): in the drawer. Nobody touches it."),
    (30, "bowl", "on the windowsill", "The bowl (full): on the windowsill. Nobody touches it."),
]


def seen(thing: str, place: str, text: str) -> ClipAnalysis:
    report = ObjectReport(name=thing, spatial_description=place)
    event = EventReport(local_event_id="E1", time_start=0, time_end=10, summary=text, objects=[report])
    return ClipAnalysis(clip_summary=text, events=[event])


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    folder = tmp_path_factory.mktemp("kitchen")
    rows = [(clip, seen(thing, place, text)) for clip, thing, place, text in SEEN]
    memory = Memory(folder / "memory")
    memory.ingest(events_jsonl(folder / "kitchen.jsonl", rows), load_settings())
    return memory


def ask(memory: Memory, question: str, as_of: str | None = None) -> Answer:
    return memory.ask(question, load_settings(), Filters(as_of=as_of))


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("Before the last time I saw the bowl, where did I see it the time before that?", "On the shelf"),
        ("Where was the previous time I saw the bowl?", "On the shelf"),
        (
            "Before the last time you saw the bowl on the shelf, where did you see it the time before that?",
            "In the sink",
        ),
        ("Thinking about the last three times I saw the bowl, where did I see it the first time?", "In the sink"),
        ("Thinking about the last three times I saw the bowl, where did I see it the second time?", "On the shelf"),
        ("Earlier, you saw the bowl on the table. Where did you see it the next time before now?", "On the windowsill"),
    ],
)
def test_times_are_counted_from_the_last(kitchen: Memory, question: str, place: str) -> None:
    assert ask(kitchen, question).answer.startswith(f"{place}: ")


def test_sightings_within_a_minute_are_one_time(kitchen: Memory) -> None:
    answer = ask(kitchen, "Thinking about the last four times I saw the bowl, where did I see it the first time?")
    assert answer.answer.startswith("On the table")
    assert not ask(
        kitchen, "Of the last five times I saw the bowl, where did I see it the first time?"
    ).answer.startswith("On the table")


def test_nothing_after_the_as_of_is_a_time(kitchen: Memory) -> None:
    question = "Before the last time I saw the bowl, where did I see it the time before that?"
    assert ask(kitchen, question, as_of="00:04:00").answer.startswith("In the sink")


def test_the_answer_rests_on_its_time_and_the_earlier_ones_follow_as_evidence(kitchen: Memory) -> None:
    answer = ask(kitchen, "Before the last time I saw the bowl, where did I see it the time before that?")
    starts = [piece.node.t_start_ms for piece in answer.evidence]
    assert answer.found
    assert len(answer.claims) == 1
    assert answer.claims[0].evidence == [answer.evidence[0].node.node_id]
    assert starts[:3] == [200_000, 110_000, 0]


@pytest.mark.parametrize(
    ("question", "change"),
    [
        ("Between the last two times I saw the bowl, did I see it in a different place?", "It changes"),
        ("Between the last two times I saw the bowl, did its state stay the same or change?", "It changes"),
        ("Between the last two times I saw the bowl, was it handled differently?", "It stays the same"),
        ("Between the last three times I saw the bowl, was it handled differently?", "It changes"),
    ],
)
def test_two_times_are_compared_by_what_is_asked(kitchen: Memory, question: str, change: str) -> None:
    assert ask(kitchen, question).answer.startswith(f"{change}: ")


def test_a_thing_seen_once_has_no_time_before(kitchen: Memory) -> None:
    answer = ask(kitchen, "Before the last time I saw the spoon, where did I see it the time before that?")
    assert "shelf" not in answer.answer


@pytest.mark.parametrize(
    "question",
    [
        "Where did I see the bowl?",
        "When did I last see the bowl?",
        "What did I do the second time?",
        "",
        "saw the " * 99,
    ],
)
def test_other_questions_are_left_to_others(question: str) -> None:
    assert read_history(question) is None


def test_what_is_asked_of_a_thing_is_read() -> None:
    text = "Thinking about the last three times you saw the cup at the sink, what state was it in the second time?"
    assert read_history(text) == Recalled("cup at the sink", (2,), "state")
