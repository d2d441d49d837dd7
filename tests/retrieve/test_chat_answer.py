"""What is answered from a chat without a model: the words of whoever said it, or that nobody did."""

from __future__ import annotations

import pytest

from amr.config import Settings, load_settings
from amr.memory import Filters, Memory
from amr.records import Answer
from amr.retrieve.calibration import calibration
from tests.support.chats import chat_jsonl, line

_LONG = " ".join(["There is much to say about gardens, soil and rain."] * 10)
TALK = [
    line("s1", "Ann", "Hello Bea, how was your week?", "2024-05-01T09:30:00Z"),
    line("s1", "Bea", "I joined a pottery class, it is so calming."),
    line("s1", "Ann", "Pottery sounds lovely, my aunt taught pottery for years."),
    line("s2", "Ann", "I finally adopted a greyhound called Biscuit.", "2024-06-03T18:00:00Z"),
    line("s2", "Bea", "Congratulations!"),
    line("s3", "user", "Which fertiliser should I buy for my tomatoes?", "2024-07-01T08:00:00Z", role="user"),
    line("s3", "assistant", f"{_LONG} For tomatoes buy a fertiliser rich in potassium. {_LONG}", role="assistant"),
]


@pytest.fixture(scope="module")
def settings() -> Settings:
    return load_settings()


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory, settings: Settings) -> Memory:
    folder = tmp_path_factory.mktemp("chat")
    made = Memory(folder / "memory")
    made.ingest(chat_jsonl(folder / "talk.jsonl", TALK), settings)
    return made


def asked(memory: Memory, settings: Settings, question: str) -> Answer:
    return memory.ask(question, settings, Filters(scope="talk"))


def test_the_answer_says_when_who_and_the_words(memory: Memory, settings: Settings) -> None:
    answer = asked(memory, settings, "Which greyhound did Ann adopt?")
    assert answer.found
    assert answer.answer == '2024-06-03 18:00:00, Ann: "I finally adopted a greyhound called Biscuit."'
    (claim,) = answer.claims
    assert claim.text == answer.answer
    assert claim.evidence == [answer.evidence[0].node.node_id]


def test_what_somebody_said_is_told_in_their_words_alone(memory: Memory, settings: Settings) -> None:
    of_bea = asked(memory, settings, "What did Bea say about pottery?").answer
    assert "calming" in of_bea
    assert "aunt" not in of_bea
    of_ann = asked(memory, settings, "What did Ann say about pottery?").answer
    assert "aunt" in of_ann
    assert "calming" not in of_ann


def test_a_question_gives_way_to_the_part_of_a_long_reply_that_answers_it(memory: Memory, settings: Settings) -> None:
    answer = asked(memory, settings, "What fertiliser did you tell me to buy for tomatoes?")
    assert "potassium" in answer.answer
    assert all(len(claim.text) < 400 for claim in answer.claims)


@pytest.mark.parametrize("question", ["Where is my trombone?", "When did Ann sail to Iceland?"])
def test_what_nobody_talked_of_is_not_found(memory: Memory, settings: Settings, question: str) -> None:
    answer = asked(memory, settings, question)
    assert not answer.found
    assert answer.claims == []
    assert answer.confidence < calibration().threshold


def test_none_is_believed_more_than_the_one_before(memory: Memory, settings: Settings) -> None:
    found = memory.query("pottery class", settings, Filters(scope="talk"), 7).evidence
    relevances = [piece.relevance for piece in found]
    assert relevances == sorted(relevances, reverse=True)
    assert all(0 <= relevance <= 1 for relevance in relevances)
