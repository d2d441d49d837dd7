from __future__ import annotations

import json
from pathlib import Path

import pytest

from amr.memory import Filters, Memory
from amr.retrieve.json_out import answer_json, query_json
from tests.retrieve.lives import MORNING, live, settings


def test_where_a_thing_is_comes_with_the_words_and_the_time(morning: Memory) -> None:
    answer = morning.ask("Where did I put my phone?", settings())
    assert answer.found
    assert answer.question_type == "Object_Tracking"
    assert answer.answer == (
        'On the kitchen table next to the mug: "I put my phone on the kitchen table next to the mug." (00:00:11)'
    )
    assert answer.state is not None
    assert (answer.state.object, answer.state.state, answer.state.holder) == ("phone", "located", None)
    assert answer.state.place == "on the kitchen table next to the mug"
    assert answer.state.since_ms == 11_000
    assert answer.evidence[0].node.node_id == answer.state.evidence
    assert answer.claims[0].evidence == [answer.state.evidence]


def test_a_question_about_a_place_is_no_evidence_for_it(morning: Memory) -> None:
    assert "shelf" not in morning.ask("Where is my phone?", settings()).answer


def test_what_was_picked_up_later_is_held(whole_day: Memory) -> None:
    answer = whole_day.ask("Where is my phone?", settings())
    assert answer.answer.startswith("You were last seen holding it")
    assert answer.state is not None
    assert (answer.state.place, answer.state.holder) == (None, "wearer")


def test_as_of_answers_from_what_was_seen_by_then(whole_day: Memory) -> None:
    answer = whole_day.ask("Where is my phone?", settings(), Filters(as_of="00:01:00"))
    assert answer.answer.startswith("On the kitchen table")
    assert not whole_day.ask("When does the train leave?", settings(), Filters(as_of="60")).found


def test_what_was_given_away_is_with_the_other_person(morning: Memory) -> None:
    answer = morning.ask("Where is the blue mug?", settings())
    assert answer.state is not None
    assert answer.state.holder == "tasha"
    assert answer.answer.startswith("Tasha has it")


def test_the_last_place_counts_not_the_first(tmp_path: Path) -> None:
    cues = [
        (1, "I put the keys on the table."),
        (12, "I pick up the keys."),
        (14, "I walk to the door."),
        (23, "I put the keys in my pocket."),
    ]
    answer = live(tmp_path, cues).ask("Where are my keys?", settings())
    assert answer.answer.startswith("In your pocket")
    assert answer.state is not None
    assert answer.state.place == "in my pocket"


def test_it_is_what_was_just_picked_up(tmp_path: Path) -> None:
    cues = [(1, "I picked up the tablet."), (3, "Turned around and put it on the sofa."), (30, "I leave the room.")]
    answer = live(tmp_path, cues).ask("Where did I put the tablet?", settings())
    assert answer.answer.startswith("On the sofa")
    assert len(answer.claims[0].evidence) == 2


def test_when_answers_with_a_clock(morning: Memory) -> None:
    answer = morning.ask("When did I open the refrigerator?", settings())
    assert answer.answer == '00:00:41: "I open the fridge."'


def test_who_answers_with_a_person(morning: Memory) -> None:
    assert morning.ask("Who asked about the pen?", settings()).answer.startswith("Shure:")
    assert morning.ask("Who did I give the mug to?", settings()).answer.startswith("Tasha:")


def test_what_somebody_said_is_in_their_words(morning: Memory) -> None:
    answer = morning.ask("What did Katrina say about the parcel?", settings())
    assert "I saw the parcel by the front door." in answer.answer
    assert answer.question_type == "Cross_Modal"


@pytest.mark.parametrize(
    "question",
    [
        "Where did I put the trombone?",
        "Who mentioned the aquarium?",
        "What did Priya say about the parcel?",
        "What did Shure say about the parcel?",
        "What did Katrina say about the invoice?",
        "Where is the blue helmet?",
        "When did I feed the parrot?",
        "Where is the red mug?",
        "Where did I put my phone before I lost the bonsai?",
        "When did I wash the phone?",
        "What did Shure say about the morning?",
        "我把雨伞放在哪里了?",
    ],
)
def test_what_never_occurred_is_not_found(morning: Memory, question: str) -> None:
    answer = morning.ask(question, settings())
    assert not answer.found
    assert answer.answer == "Nothing in this memory answers that."
    assert answer.claims == []
    assert answer.state is None
    assert answer.confidence < 0.9


def test_a_chinese_question_finds_its_chinese_line(morning: Memory) -> None:
    answer = morning.ask("谁去了图书馆?", settings())
    assert answer.found
    assert "谢炳珠" in answer.answer


def test_equal_questions_get_equal_answers(morning: Memory) -> None:
    first, second = (answer_json(morning.ask("Where is the pen?", settings())) for _ in range(2))
    first.pop("seconds"), second.pop("seconds")
    assert json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


def test_an_empty_memory_and_an_empty_question_answer_nothing(tmp_path: Path, morning: Memory) -> None:
    assert not morning.ask("", settings()).found
    assert not morning.ask("Where is my phone?", settings(), Filters(scope="nobody")).found


def test_query_ranks_what_bears_on_the_question_first(morning: Memory) -> None:
    found = morning.query("fridge", settings(), k=3).evidence
    assert found[0].node.text == "I open the fridge."
    assert len(found) == 3
    assert found[0].relevance > max(found[1].relevance, found[2].relevance)
    assert all(0 <= evidence.relevance <= 1 for evidence in found)


def test_evidence_names_source_clip_and_times(morning: Memory) -> None:
    answer = morning.ask("When did I open the fridge?", settings())
    shown = answer_json(answer)["evidence"][0]
    assert set(shown) == {
        "node_id", "kind", "source", "clip", "ref", "t_start", "t_end", "time", "text", "objects", "persons", "place",
        "frame", "score", "relevance", "path",
    }  # fmt: skip
    assert (shown["t_start"], shown["t_end"], shown["time"]) == (41.0, 43.0, None)
    assert shown["clip"].endswith(":4")
    assert shown["source"]


def test_the_json_of_query_is_that_of_ask_without_the_answer(morning: Memory) -> None:
    answer = morning.ask("Where is my phone?", settings())
    assert set(answer_json(answer)) - set(query_json(answer)) == {"answer", "state", "claims"}
    assert set(answer_json(answer)["state"]) == {"object", "state", "place", "holder", "since", "evidence"}


def test_filters_by_time_and_source_hide_the_rest(tmp_path: Path) -> None:
    memory = live(tmp_path, MORNING)
    assert not memory.ask("When did I open the fridge?", settings(), Filters(before="00:00:30")).found
    assert memory.ask("When did I open the fridge?", settings(), Filters(after="00:00:30")).found
