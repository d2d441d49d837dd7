"""BEAM: its conversations in every published layout, and the gold of its questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amr.errors import BadInput
from amr.evals.beam_questions import ABILITIES, questions_of, read_conversations
from tests.support.command import ran
from tests.support.data import test_data

CHAT = [
    {
        "batch_number": 1,
        "turns": [
            [
                {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "I use Redis. ->-> 1,1"},
                {"role": "assistant", "id": 1, "content": "Redis is quick."},
            ],
            [
                {"role": "user", "id": 2, "content": "My quota is 1,000 calls."},
                {"role": "assistant", "id": 3, "content": "Noted."},
            ],
        ],
    },
    {
        "batch_number": 2,
        "turns": [
            [
                {"role": "user", "id": 4, "content": "My quota is now 1,200 calls."},
                {"role": "assistant", "id": 5, "content": "Good."},
            ]
        ],
    },
]
PROBES: dict[str, Any] = {
    "knowledge_update": [
        {
            "question": "What is my quota?",
            "answer": "1,200",
            "source_chat_ids": {"original_info": [2], "updated_info": [4]},
            "rubric": ["LLM response should state: 1,200"],
        }
    ],
    "event_ordering": [{"question": "In what order?", "answer": "so", "source_chat_ids": [[0, 2], 4, 4]}],
    "information_extraction": [{"question": "What do I use?", "answer": "Redis", "source_chat_ids": [0, 77]}],
    "abstention": [{"question": "Which font?", "ideal_response": "There is no information."}],
    "summarization": [{"question": "Sum up.", "ideal_summary": "All.", "source_chat_ids": [99]}],
}


def conversation(**changed: Any) -> dict[str, Any]:
    return {"id": "100K/9", "chat": CHAT, "probing_questions": PROBES, **changed}


def test_gold_is_the_source_ids_in_whatever_form_and_their_sessions() -> None:
    questions, stack, _ = questions_of(conversation())
    gold = {one.category: one.gold for one in questions}
    assert gold["knowledge_update"] == {"turn": ("2", "4"), "session": ("1-2", "2-1")}
    assert gold["event_ordering"] == {"turn": ("0", "2", "4"), "session": ("1-1", "1-2", "2-1")}
    assert {one.scope for one in questions} == {stack.name} == {"100K/9"}
    assert questions[0].known["rubric"] == ["LLM response should state: 1,200"]


def test_a_question_without_sources_is_kept_and_not_scored() -> None:
    questions, _, _ = questions_of(conversation())
    left_out = {one.category: one.left_out for one in questions if one.left_out}
    assert left_out == {
        "abstention": "it names no source turns",
        "summarization": "none of its evidence is in the conversation",
    }
    assert next(one for one in questions if one.category == "abstention").answer == "There is no information."


def test_sources_that_point_nowhere_are_told() -> None:
    _, _, problems = questions_of(conversation())
    assert problems == [
        "100K/9/information_extraction/1: source_chat_ids name turns that are not there: 77.",
        "100K/9/summarization/1: source_chat_ids name turns that are not there: 99.",
    ]


def test_a_conversation_without_questions_and_a_question_without_words_are_told() -> None:
    questions, _, problems = questions_of(conversation(probing_questions=None))
    assert not questions and "'probing_questions' is missing" in problems[0]
    questions, _, problems = questions_of(conversation(probing_questions={"abstention": [{"answer": "x"}]}))
    assert not questions and problems == ["100K/9/abstention/1: there are no words to ask."]


def test_a_file_a_folder_and_lines_are_read(tmp_path: Path) -> None:
    (tmp_path / "conv_1.json").write_text(json.dumps(conversation(id="a")))
    (tmp_path / "conv_2.jsonl").write_text("".join(json.dumps(conversation(id=name)) + "\n" for name in "bc"))
    assert [one["id"] for one in read_conversations(tmp_path)] == ["a", "b", "c"]
    assert [one["id"] for one in read_conversations(tmp_path / "conv_1.json")] == ["a"]


def test_the_repositorys_folders_are_read_in_their_order(tmp_path: Path) -> None:
    for name in ("10", "2"):
        folder = tmp_path / "chats" / "100K" / name
        (folder / "probing_questions").mkdir(parents=True)
        (folder / "chat.json").write_text(json.dumps(CHAT))
        (folder / "probing_questions" / "probing_questions.json").write_text(json.dumps(PROBES))
    found = list(read_conversations(tmp_path / "chats"))
    assert [one["id"] for one in found] == ["100K/2", "100K/10"]
    assert questions_of(found[0])[0]


def test_the_parquet_of_the_data_set_is_read(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    said = [(0, "main_question"), (1, None), (2, "followup_question"), (3, None), (4, "main_question"), (5, None)]
    batch = [
        {"id": n, "role": "user" if n % 2 == 0 else "assistant", "content": f"words {n}", "question_type": kind}
        for n, kind in said
    ]
    rows = {"conversation_id": ["7"], "chat": [[batch]], "probing_questions": [repr(PROBES)]}
    parquet.write_table(pa.table(rows), tmp_path / "100K-00000-of-00001.parquet")
    (found,) = read_conversations(tmp_path)
    assert found["id"] == "100K/7"
    questions, stack, _ = questions_of(found)
    assert [(one.ref, [turn.ref for turn in one.turns]) for one in stack.sessions] == [
        ("1-1", ["0", "1", "2", "3"]),
        ("1-2", ["4", "5"]),
    ]
    assert next(one for one in questions if one.category == "knowledge_update").gold["session"] == ("1-1", "1-2")


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"question_id": "q"}')
    with pytest.raises(BadInput, match=r"no file of BEAM"):
        list(read_conversations(tmp_path / "other.json"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match=r"holds no conversation of BEAM"):
        list(read_conversations(tmp_path / "empty"))


def test_the_published_conversations_have_two_questions_of_each_ability() -> None:
    (record,) = read_conversations(test_data("beam100k/conv_02.json.gz"))
    questions, _, problems = questions_of(record)
    assert [one.category for one in questions] == [ability for ability in ABILITIES for _ in range(2)]
    assert not problems
    assert {one.category for one in questions if one.left_out} == {"abstention"}


def test_conversations_are_ingested_asked_and_reported(tmp_path: Path) -> None:
    folder, out = tmp_path / "beam", tmp_path / "run"
    folder.mkdir()
    (folder / "conv_1.json").write_text(json.dumps(conversation(id="a")))
    (folder / "conv_2.json").write_text(json.dumps(conversation(id="b/2")))
    (folder / "conv_3.json").write_text(json.dumps(conversation(id="a")))
    report = ran("eval", "beam", "--data", folder, "--out", out, "--json").json
    assert report["n"] == 10
    for system in ("amr", "bm25", "dense"):
        assert report["systems"][system]["turn_recall@50.all.knowledge_update"] == 1.0
        assert report["intervals"][system]["turn_recall@5.any"][2] == 6
    assert report["systems"]["dense"]["session_recall@5.fraction"] == 1.0
    assert not any(name.endswith(".abstention") for name in report["systems"]["amr"])
    assert report["notes"][0].startswith("4 questions have no source turns to find")
    assert any("there are two conversations of this name" in note for note in report["notes"])
    assert len((out / "conversations.jsonl").read_text().splitlines()) == 2
