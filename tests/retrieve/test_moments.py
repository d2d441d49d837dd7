from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

import pytest

from amr.memory import Filters, Memory
from amr.retrieve.moments import read_moment
from tests.retrieve.lives import live, settings


def at(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() * 1000)


NOW = at("2031-05-08T20:30:00")  # a Thursday


@pytest.mark.parametrize(
    ("words", "inside", "outside"),
    [
        ("today", "2031-05-08T06:00", "2031-05-07T23:00"),
        ("yesterday", "2031-05-07T06:00", "2031-05-08T06:00"),
        ("yesterday evening", "2031-05-07T19:00", "2031-05-07T09:00"),
        ("the day before yesterday", "2031-05-06T12:00", "2031-05-07T12:00"),
        ("this morning", "2031-05-08T09:00", "2031-05-08T14:00"),
        ("this afternoon", "2031-05-08T14:00", "2031-05-08T09:00"),
        ("this evening", "2031-05-08T19:00", "2031-05-08T14:00"),
        ("tonight", "2031-05-08T20:00", "2031-05-08T12:00"),
        ("last night", "2031-05-08T01:00", "2031-05-08T09:00"),
        ("on Monday", "2031-05-05T12:00", "2031-05-06T12:00"),
        ("last Thursday", "2031-05-01T12:00", "2031-05-08T12:00"),
        ("three days ago", "2031-05-05T12:00", "2031-05-06T12:00"),
        ("an hour ago", "2031-05-08T19:25", "2031-05-08T20:29"),
        ("10 minutes ago", "2031-05-08T20:19", "2031-05-08T19:30"),
        ("in the last two hours", "2031-05-08T18:40", "2031-05-08T18:00"),
        ("at 10:30", "2031-05-08T10:32", "2031-05-08T11:30"),
        ("at 7 pm", "2031-05-08T19:01", "2031-05-08T07:01"),
        ("at 9:15 pm", "2031-05-07T21:15", "2031-05-08T09:15"),
        ("around noon", "2031-05-08T12:20", "2031-05-08T15:00"),
        ("yesterday at 8:00", "2031-05-07T08:05", "2031-05-08T08:05"),
        ("after 14:00", "2031-05-08T15:00", "2031-05-08T13:00"),
        ("before noon", "2031-05-08T08:00", "2031-05-08T13:00"),
    ],
)
def test_time_words_become_limits_seen_from_now(words: str, inside: str, outside: str) -> None:
    said = read_moment(f"What did I fix {words}?", NOW)
    assert said.limits is not None
    first, last = said.limits
    assert first <= at(inside) <= last
    assert not first <= at(outside) <= last
    assert said.text == "What did I fix ?"


@pytest.mark.parametrize("words", ["on DAY2", "on day 2", "day 2"])
def test_numbered_days_are_those_of_recordings_without_dates(words: str) -> None:
    said = read_moment(f"What did I fix {words}?", at("2000-01-05T12:00"))
    assert said.limits == (at("2000-01-02T00:00"), at("2000-01-02T23:59:59.999"))


def test_after_midnight_it_is_still_the_same_night() -> None:
    late = at("2031-05-09T01:30")
    tonight = read_moment("What did I eat tonight?", late).limits
    assert tonight is not None
    assert tonight[0] <= at("2031-05-08T22:00") <= tonight[1]


@pytest.mark.parametrize(
    "question",
    [
        "Where is the paint we bought yesterday?",
        "What is the plan for tonight?",
        "What did Mara say about this morning?",
        "Where is my drill?",
        "When did I fix the gate?",
        "我昨天做了什么?",
    ],
)
def test_what_belongs_to_a_thing_or_a_topic_limits_nothing(question: str) -> None:
    assert read_moment(question, NOW).limits is None


TWO_DAYS = [
    ("2031-05-07T09:00:00", "I paint the fence."),
    ("2031-05-07T19:00:00", "I put the drill on the shelf."),
    ("2031-05-08T08:00:00", "I paint the gate."),
    ("2031-05-08T14:00:00", "I put the drill in the crate."),
    ("2031-05-08T15:00:00", "I give the hammer to Otis."),
    ("2031-05-08T19:00:00", "I give the hammer to Nora."),
]


@pytest.fixture(scope="module")
def two_days(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    """Two days with a wall clock, clip by clip."""
    folder = tmp_path_factory.mktemp("two_days")
    first = at(TWO_DAYS[0][0])
    rows = []
    for number, (time, text) in enumerate(TWO_DAYS):
        start = (at(time) - first) / 1000
        event = {"local_event_id": "e1", "time_start": 0.0, "time_end": 2.0, "summary": text, "modality": "told"}
        rows.append(
            {
                "source": "two days",
                "clip": number,
                "t_start": start,
                "t_end": start + 2,
                "time": time,
                "analysis": {"clip_summary": text, "events": [{**event, **_read(text)}], **_cast(text)},
            }
        )
    file = folder / "days.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    memory = Memory(folder / "memory")
    memory.ingest(file, settings())
    return memory


def _read(text: str) -> dict[str, object]:
    from amr.language.reading import read_sentence

    reading = read_sentence(text)
    actions = [action.model_dump() for action in reading.actions]
    return {"actors": ["wearer"], "objects": [thing.model_dump() for thing in reading.objects], "actions": actions}


def _cast(text: str) -> dict[str, object]:
    names = [name for name in ("Otis", "Nora") if name in text]
    people = [{"local_character_id": name.lower(), "name_or_description": name} for name in names]
    return {"characters": people}


@pytest.mark.parametrize(
    ("question", "begins"),
    [
        ("When did I paint something yesterday?", "2031-05-07 09:00:00"),
        ("How many times did I paint the gate today?", "1 time"),
        ("Who did I give the hammer to this afternoon?", "Otis"),
        ("Who did I give the hammer to?", "Nora"),
        ("Where did I put the drill yesterday?", "On the shelf"),
        ("Where did I put the drill?", "In the crate"),
        ("What did I paint yesterday?", '"I paint the fence."'),
    ],
)
def test_a_question_sees_only_the_time_it_asks_about(two_days: Memory, question: str, begins: str) -> None:
    answer = two_days.ask(question, settings(), Filters(as_of="2031-05-08T20:00:00"))
    assert answer.answer.startswith(begins)


def test_what_was_not_done_in_that_time_is_not_found(two_days: Memory) -> None:
    assert not two_days.ask("How many times did I paint the gate yesterday?", settings()).found
    assert not two_days.ask("When did I paint the fence today?", settings()).found


def test_without_a_question_time_the_last_thing_seen_is_now(two_days: Memory) -> None:
    assert two_days.ask("Who did I give the hammer to this afternoon?", settings()).answer.startswith("Otis")


def test_a_source_without_a_wall_clock_has_no_days(tmp_path: Path) -> None:
    memory = live(tmp_path, [(1, "I paint the fence."), (5, "I fix the gate.")])
    assert memory.ask("When did I fix the gate yesterday?", settings()).answer.startswith("00:00:05")
