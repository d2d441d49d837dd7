"""Turns and sessions of a chat are ranked by what they say, what was said around them, by whom and when."""

from __future__ import annotations

from pathlib import Path

import pytest

from amr.config import Settings, load_settings
from amr.memory import Filters, Memory
from amr.records import Answer
from amr.retrieve import chat_ranking
from amr.retrieve.chat_lanes import turn_lane
from amr.retrieve.chat_ranking import Best, all_weights, best_of_chat
from amr.retrieve.explain import explain_text
from amr.retrieve.json_out import query_json
from tests.support.chats import chat_jsonl, line

SMALL_TALK = (
    "How have you been?",
    "Busy as ever.",
    "The weather is lovely.",
    "It is, I walked to work.",
    "Good for you!",
)


def session(name: str, date: str, *turns: tuple[str, str]) -> list[dict[str, object]]:
    return [line(name, speaker, text, date) for speaker, text in turns]


def chatter(name: str, date: str) -> list[dict[str, object]]:
    return session(name, date, *((("Ann", "Bea")[n % 2], text) for n, text in enumerate(SMALL_TALK)))


FRIENDS = [
    *chatter("s1", "2023-03-01T10:00:00Z"),
    *session(
        "s2",
        "2023-05-10T10:00:00Z",
        ("Bea", "Hi Ann! Anything new?"),
        ("Ann", "Yes, I adopted a dog from the shelter."),
        ("Bea", "What did you name your dog?"),
        ("Ann", "He answers to Biscuit."),
        ("Bea", "Adorable!"),
    ),
    *chatter("s3", "2023-06-01T10:00:00Z"),
    *session(
        "s4",
        "2023-07-02T10:00:00Z",
        ("Ann", "I went to a concert and danced."),
        ("Bea", "I went to a concert and sang."),
    ),
    *session(
        "s5",
        "2023-09-20T10:00:00Z",
        ("Bea", "We went to a concert on Friday."),
        ("Ann", "I bought a kayak."),
    ),
]


@pytest.fixture(scope="module")
def settings() -> Settings:
    return load_settings()


@pytest.fixture(scope="module")
def friends(tmp_path_factory: pytest.TempPathFactory, settings: Settings) -> Memory:
    folder = tmp_path_factory.mktemp("friends")
    memory = Memory(folder / "memory")
    memory.ingest(chat_jsonl(folder / "friends.jsonl", FRIENDS), settings)
    return memory


def refs(answer: Answer) -> list[str | None]:
    return [one.ref for one in answer.evidence]


def asked(memory: Memory, settings: Settings, question: str, k: int = 10, **filters: object) -> Answer:
    return memory.query(question, settings, Filters(scope="friends", **filters), k)  # type: ignore[arg-type]


def test_an_answer_that_shares_no_word_with_the_question_is_found(friends: Memory, settings: Settings) -> None:
    assert "s2:4" in refs(asked(friends, settings, "What is the name of Ann's dog?", 3))


def test_sessions_are_ranked_too(friends: Memory, settings: Settings) -> None:
    found = asked(friends, settings, "What is the name of Ann's dog?", 5, kinds=("session",))
    assert refs(found)[0] == "s2"
    assert len(found.evidence) == 5
    assert {one.node.kind for one in found.evidence} == {"session"}


def test_other_forms_of_a_word_and_words_like_it_count(friends: Memory, settings: Settings) -> None:
    assert refs(asked(friends, settings, "What did Ann purchase?", 1)) == ["s5:2"]


def test_the_turn_of_the_one_asked_about_comes_first(friends: Memory, settings: Settings) -> None:
    assert refs(asked(friends, settings, "Did Ann go to a concert in July 2023?", 1)) == ["s4:1"]
    assert refs(asked(friends, settings, "Did Bea go to a concert in July 2023?", 1)) == ["s4:2"]


def test_a_time_in_the_question_chooses_the_session(friends: Memory, settings: Settings) -> None:
    assert refs(asked(friends, settings, "Who went to a concert in September 2023?", 1)) == ["s5:1"]
    lately = asked(friends, settings, "Who went to a concert last week?", 1, asked_at="2023-09-23")
    assert refs(lately) == ["s5:1"]


def test_nothing_among_the_best_is_dropped(friends: Memory, settings: Settings) -> None:
    found = asked(friends, settings, "What is the capital of Mongolia?", len(FRIENDS))
    assert len(found.evidence) == len(FRIENDS)
    assert not found.found


def test_what_is_to_come_is_not_seen(friends: Memory, settings: Settings) -> None:
    found = asked(friends, settings, "Who went to a concert?", 30, as_of="2023-07-31")
    assert "s4:1" in refs(found)
    assert not {"s5:1", "s5:2"} & set(refs(found))


def test_before_anything_was_said_nothing_is_found(friends: Memory, settings: Settings) -> None:
    for kinds in (("turn",), ("session",), ("turn", "fact")):
        assert not asked(friends, settings, "Who went to a concert?", as_of="2020-01-01", kinds=kinds).evidence


def test_a_question_of_no_words_gets_the_nearest_all_the_same(friends: Memory, settings: Settings) -> None:
    for question in ("?", "what", "在哪里"):
        assert len(asked(friends, settings, question, 3).evidence) == 3


def test_a_chat_ranks_the_same_alone_or_among_others(tmp_path: Path, friends: Memory, settings: Settings) -> None:
    rows = [
        {**one, "scope": scope}
        for number in range(12)
        for scope in ("friends" if number == 6 else f"others{number}",)
        for one in (FRIENDS if number == 6 else FRIENDS[number : 2 * number + 2])
    ]
    many = Memory(tmp_path / "memory")
    many.ingest(chat_jsonl(tmp_path / "many.jsonl", rows), settings)
    for question in ("What is the name of Ann's dog?", "Did Bea go to a concert in July 2023?"):
        for kinds in (("turn",), ("session",)):
            alone, among = (asked(memory, settings, question, kinds=kinds) for memory in (friends, many))
            assert [(one.ref, one.score) for one in alone.evidence] == [(one.ref, one.score) for one in among.evidence]


def best_of(memory: Memory, question: str, most: int, kind: str = "turn") -> list[Best]:
    found: list[Best] = memory._read(
        Filters(scope="friends", kinds=(kind,)),
        lambda snapshot, view: best_of_chat(snapshot, view, question, None, most),
    )
    return found


def test_as_many_turns_are_given_as_are_asked_for(friends: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    question = "What is the name of Ann's dog?"
    everything = best_of(friends, question, len(FRIENDS))
    monkeypatch.setattr(chat_ranking, "READ", 5)
    assert len(best_of(friends, question, 4)) == 4
    found = best_of(friends, question, 1000)
    assert {one.node_id for one in found} == {one.node_id for one in everything}
    assert len(found) == len(FRIENDS)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert [bool(one.lanes) for one in found] == [True] * 5 + [False] * (len(FRIENDS) - 5)


def test_lanes_say_what_speaks_for_a_turn_or_a_session(friends: Memory) -> None:
    by_speaker, by_time = (
        {one.node_id: one.lanes for one in best_of(friends, question, 5)}
        for question in ("Did Ann go to a concert?", "Who went to a concert in July 2023?")
    )
    assert len({lanes["speaker"] for lanes in by_speaker.values()}) > 1
    assert max(lanes["time"] for lanes in by_time.values()) > 0
    assert all(lanes["time"] == 0 for lanes in by_speaker.values())
    assert set(best_of(friends, "Did Ann go to a concert?", 1, "session")[0].lanes) == {
        "direction",
        "time",
        "turns",
        "words",
    }


def test_every_feature_that_counts_is_in_a_lane_of_its_own_kind() -> None:
    turns = {name: turn_lane(name) for by in all_weights().values() for name in by.turns}
    assert set(turns.values()) == {"words", "direction", "around", "session", "speaker", "time", "manner"}
    assert turns["exact turn"] == "words"
    assert turns["alike in session telling"] == "session"
    assert turns["content turn before"] == turns["covers three squared"] == "around"
    assert turns["times when"] == turns["answers"] == "manner"
    assert turns["near times"] == "time"


def test_explained_by_lane_for_a_program_and_for_a_person(friends: Memory, settings: Settings) -> None:
    answer = asked(friends, settings, "Did Ann go to a concert?", 3)
    told = query_json(answer, explain=True)["explain"]
    assert told["pieces"][0]["lanes"]
    assert [piece["node_id"] for piece in told["pieces"]] == [one.node.node_id for one in answer.evidence]
    assert [piece["score"] for piece in told["pieces"]] == [one.score for one in answer.evidence]
    text = explain_text(answer)
    assert text.startswith(f"type: {answer.question_type}\npieces")
    assert "I went to a concert and danced." in text


def test_the_chat_is_not_read_again_for_another_moment_after_all_of_it(
    friends: Memory, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        asked(friends, settings, "Who went to a concert?", as_of="2024-01-01")
    reads: list[object] = []
    monkeypatch.setattr(chat_ranking, "_read_chat", lambda snapshot, view: reads.append(view))
    assert asked(friends, settings, "Who went to a concert?", as_of="2024-01-02").evidence
    assert not reads
