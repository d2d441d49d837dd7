"""LongMemEval: its questions and their gold, what a ranking is worth, and the pool of evidence sessions."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest

from amr.errors import BadInput
from amr.evals.longmemeval_pooled import read_pool, write_chat
from amr.evals.longmemeval_questions import Record, read_records, record_of
from amr.evals.longmemeval_scoring import first_rank, hits_of, official_ndcg
from amr.evals.questions import EvalQuestion
from amr.media.chats import read_chats
from tests.support.command import amr, assert_one_sentence, ran
from tests.support.data import test_data


def record(name: str = "q1", **changed: Any) -> dict[str, Any]:
    """A question with three sessions; the second has the answer, said by the user and repeated by the assistant."""
    return {
        "question_id": name,
        "question_type": "single-session-user",
        "question": "What did I name my cat?",
        "answer": "Pixel",
        "question_date": "2023/05/30 (Tue) 23:40",
        "answer_session_ids": ["answer_1"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 08:00", "2023/05/22 (Mon) 09:30"],
        "haystack_session_ids": ["s_a", "answer_1", "s_b"],
        "haystack_sessions": [
            [turn("user", "How do I bake bread?"), turn("assistant", "With flour.")],
            [
                turn("user", "Tell me about cats."),
                turn("assistant", "They sleep a lot."),
                turn("user", "I named my cat Pixel.", True),
                turn("assistant", "Pixel is a good name.", True),
            ],
            [turn("user", "Plan a trip to Rome."), turn("assistant", "Take the train.")],
        ],
        **changed,
    }


def turn(role: str, content: str, has_answer: bool = False) -> dict[str, Any]:
    return {"role": role, "content": content, "has_answer": has_answer}


def question_of(raw: dict[str, Any]) -> EvalQuestion:
    found = record_of(raw, 1).question
    assert found is not None
    return found


# --- questions ----------------------------------------------------------------------------------------------


def test_gold_is_the_named_sessions_and_the_marked_turns_counted_over_all_turns() -> None:
    question = question_of(record())
    assert question.gold == {
        "session": ("answer_1",),
        "turn": ("answer_1_3", "answer_1_4"),
        "user_turn": ("answer_1_3",),
        "user_session": ("answer_1",),
    }
    assert (question.scope, question.category, question.answer) == ("q1", "single-session-user", "Pixel")
    assert question.known["official"]


def test_a_question_is_asked_as_of_its_date_or_of_the_latest_session() -> None:
    assert question_of(record()).asked_at == "2023-05-30T23:40:00"
    assert question_of(record(question_date="2023/05/21 (Sun) 00:00")).asked_at == "2023-05-22T09:30:00"


def test_abstentions_and_what_only_the_assistant_said_are_no_official_questions() -> None:
    assert not question_of(record("q1_abs")).known["official"]
    raw = record()
    raw["haystack_sessions"][1][2]["has_answer"] = False
    question = question_of(raw)
    assert question.gold["turn"] == ("answer_1_4",) and question.gold["user_session"] == ()
    assert not question.known["official"] and not question.left_out


def test_evidence_that_points_nowhere_is_told_and_not_scored() -> None:
    half = record_of(record(answer_session_ids=["answer_1", "answer_9"]), 1)
    assert half.question is not None and half.question.gold["session"] == ("answer_1",)
    assert half.problems == ("q1: evidence names sessions that are not in the haystack: answer_9.",)
    raw = record(answer_session_ids=["answer_9"])
    for one in raw["haystack_sessions"][1]:
        one["has_answer"] = False
    whole = record_of(raw, 1)
    assert whole.question is not None and whole.question.left_out == "none of its evidence is in its haystack"
    assert len(whole.problems) == 2
    assert hits_of(whole.question, {"session": ["answer_1"]}) == {}


def test_a_date_that_is_none_is_told_and_not_scored() -> None:
    found = record_of(record(question_date="some day"), 1)
    assert found.question is not None and found.question.asked_at is None
    assert found.problems == ("q1: its date 'some day' is no date; its retrieval is not scored.",)


@pytest.mark.parametrize("key", ["question", "question_id", "question_type"])
def test_a_record_without_a_key_is_not_asked(key: str) -> None:
    raw = record()
    del raw[key]
    found = record_of(raw, 7)
    assert found.question is None
    assert any(key in problem for problem in found.problems)


def test_records_are_read_from_an_array_and_from_lines_packed_or_not(tmp_path: Path) -> None:
    both = [record("q1"), record("q2")]
    files = [tmp_path / name for name in ("a.json", "b.jsonl", "c.json.gz")]
    files[0].write_text(json.dumps(both, indent=1))
    files[1].write_text("".join(json.dumps(one) + "\n" for one in both))
    files[2].write_bytes(gzip.compress(json.dumps(both).encode()))
    for file in files:
        assert [_id(one) for one in read_records(file)] == ["q1", "q2"]


def _id(found: Record) -> str | None:
    return found.question.id if found.question else None


def test_a_wrong_record_among_right_ones_stops_nothing(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text(json.dumps([record("q1"), 5, record("q3")]))
    found = list(read_records(file))
    assert [_id(one) for one in found] == ["q1", None, "q3"]
    assert found[1].problems == ("Record 2 is no JSON object; it is not asked.",)


def test_another_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text('[{"conversation": {}, "qa": []}]')
    with pytest.raises(BadInput, match=r"no file of LongMemEval"):
        list(read_records(file))
    file.write_text(json.dumps([evidence("e1", (DAY, "I bought a kayak."))]))
    with pytest.raises(BadInput, match=r"ask it with --pooled"):
        list(read_records(file))


# --- scoring ------------------------------------------------------------------------------------------------


def test_recall_asks_for_any_and_for_all_of_the_evidence() -> None:
    question = question_of(record())
    hits = hits_of(question, {"turn": ["answer_1_4", "s_a_1", "answer_1_3"], "session": ["s_a", "answer_1"]})
    assert (hits["turn_recall@1.any"], hits["turn_recall@1.all"], hits["turn_recall@3.all"]) == (True, False, True)
    assert (hits["session_recall@1.any"], hits["session_recall@3.any"]) == (False, True)
    assert hits["session_recall@5.all.official"] is True
    assert hits["session_recall@5.any.single-session-user"] is True
    assert "session_recall@1.any.single-session-user" not in hits and "turn_recall@1.any.user" not in hits


def test_the_users_side_is_scored_by_what_the_user_said() -> None:
    raw = record()
    raw["haystack_sessions"][1][2]["has_answer"] = False
    hits = hits_of(question_of(raw), {"user_turn": ["s_a_1"], "user_session": ["s_a", "answer_1"]})
    assert hits["session_recall@3.any.user"] is True
    assert not any(name.startswith("turn_") or name.endswith(".official") for name in hits)


def test_ndcg_discounts_every_rank_and_the_official_one_not_the_second() -> None:
    question = question_of(record())
    hits = hits_of(question, {"session": ["s_a", "answer_1"]})
    assert hits["session_ndcg@10"] == pytest.approx(1 / math.log2(3))
    assert hits["session_ndcg@10.official_dcg"] == pytest.approx(1.0)
    assert official_ndcg(["x", "y", "a"], ["a", "b"], 10) == pytest.approx((1 / math.log2(3)) / 2)


def test_the_first_rank_counts_from_one() -> None:
    assert first_rank(["a", "b"], ["b", "c"]) == 2
    assert first_rank(["a"], ["c"]) is None


# --- the pool -----------------------------------------------------------------------------------------------


def evidence(name: str, *sessions: tuple[str, str], **changed: Any) -> dict[str, Any]:
    """A line of evidence; each session is its date and what the user says in it."""
    return {
        "question_id": name,
        "question_type": "multi-session",
        "question": f"What about {name}?",
        "answer": "this",
        "question_date": "2023/05/30 (Tue) 23:40",
        "evidence_sessions": [
            {
                "session_key": f"{name}#{number}",
                "date": date,
                "evidence_turns": [{"role": "user", "content": text}],
            }
            for number, (date, text) in enumerate(sessions, start=1)
        ],
        **changed,
    }


def pool_folder(folder: Path, lines: list[dict[str, Any]], records: list[dict[str, Any]]) -> Path:
    (folder / "longmemeval_evidence_dev.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    if records:
        (folder / "longmemeval_s_full_dev.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    return folder


DAY = "2023/05/22 (Mon) 20:15"


def test_the_pool_has_every_session_once_and_gold_follows(tmp_path: Path) -> None:
    lines = [
        evidence("e1", (DAY, "I bought a kayak."), ("2023/06/01 (Thu) 10:00", "I sold my bike.")),
        evidence("e2", ("2023/07/01 (Sat) 10:00", "I sold my bike.")),
        evidence("q1", ("2023/05/21 (Sun) 08:00", "I named my cat Pixel.")),
        evidence("e3_abs", (DAY, "I like tea.")),
    ]
    pool = read_pool(pool_folder(tmp_path, lines, [record("q1"), record("q9_abs")]))
    assert list(pool.sessions) == ["s_a", "answer_1", "s_b", "e1#1", "e1#2", "e3_abs#1"]
    assert {one.id: one.gold["session"] for one in pool.questions} == {
        "e1": ("e1#1", "e1#2"),
        "e2": ("e1#2",),
        "q1": ("answer_1",),
    }
    assert {one.id: one.gold["turn"] for one in pool.questions}["q1"] == ("answer_1_3",)
    assert (pool.shared, pool.abstentions, pool.problems) == (2, 1, [])
    assert all(one.asked_at is None for one in pool.questions)


def test_a_complete_record_without_a_line_of_evidence_is_asked_too(tmp_path: Path) -> None:
    pool = read_pool(pool_folder(tmp_path, [evidence("e1", (DAY, "I bought a kayak."))], [record("q1")]))
    assert [one.id for one in pool.questions] == ["e1", "q1"]
    assert pool.questions[1].gold["turn"] == ("answer_1_3", "answer_1_4")


def test_the_pool_is_a_file_of_chats_that_reads_as_itself(tmp_path: Path) -> None:
    pool = read_pool(pool_folder(tmp_path, [evidence("e1", (DAY, "I bought a kayak."))], [record("q1")]))
    write_chat(pool, tmp_path / "pool.jsonl")
    assert list(read_chats(tmp_path / "pool.jsonl")) == [pool.haystack]


def test_lines_of_evidence_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    lines = [
        evidence("e1", (DAY, "I bought a kayak.")),
        evidence("e2", ("yesterday", "I sold my bike.")),
        evidence("e3", (DAY, " ")),
        {"question_id": "e4", "evidence_sessions": []},
        evidence("e5"),
    ]
    pool = read_pool(pool_folder(tmp_path, lines, []))
    assert [one.id for one in pool.questions] == ["e1", "e2"]
    assert len(pool.problems) == 5
    assert pool.sessions["e2#1"].time_ms is None


def test_a_folder_without_evidence_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"holds no longmemeval_evidence"):
        read_pool(tmp_path)


def test_the_published_evidence_makes_a_pool_of_about_840_sessions() -> None:
    pool = read_pool(test_data("longmemeval"))
    assert 800 < len(pool.sessions) < 850
    assert not pool.problems
    turns = {turn.ref for session in pool.sessions.values() for turn in session.turns}
    for question in pool.questions:
        assert question.gold["session"] and set(question.gold["session"]) <= pool.sessions.keys()
        assert question.gold["turn"] and set(question.gold["turn"]) <= turns


def test_the_published_records_are_read_without_a_fault() -> None:
    found = list(read_records(test_data("longmemeval/longmemeval_s_full_dev.jsonl.gz")))
    assert found and not any(one.problems for one in found)
    assert all(one.question is not None and one.question.known["official"] for one in found)


# --- the command --------------------------------------------------------------------------------------------


def lines_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "questions.jsonl").read_text().splitlines()]


def test_every_haystack_is_ingested_and_asked(tmp_path: Path) -> None:
    data, out = tmp_path / "longmemeval_s.json", tmp_path / "run"
    wrong = record("q2", question_date="some day")
    data.write_text(json.dumps([record("q1"), wrong, record("q3_abs"), record("q4")]))
    report = ran("eval", "longmemeval", "--data", data, "--limit", 3, "--out", out, "--json").json
    assert report["n"] == 3
    for system in ("amr", "bm25", "dense"):
        figures = report["systems"][system]
        assert figures["turn_recall@50.all"] == 1.0
        assert {"turn_recall@1.any.user.official", "session_recall@10.any.single-session-user"} <= figures.keys()
    assert report["systems"]["bm25"]["session_recall@1.any.user"] == 1.0
    number = {name: bounds[2] for name, bounds in report["intervals"]["bm25"].items()}
    assert (number["session_recall@5.any"], number["session_recall@5.any.official"]) == (2, 1)
    assert "q2: its date 'some day' is no date; its retrieval is not scored." in report["notes"]
    assert any(note.startswith("q1: rank of the evidence among 3 sessions: ") for note in report["notes"])
    first, second, _ = lines_of(out)
    assert first["systems"]["bm25"]["retrieved"]["user_turn"][0] == "answer_1_3"
    users = {"s_a_1", "answer_1_1", "answer_1_3", "s_b_1"}
    assert "answer_1_3" in first["systems"]["amr"]["retrieved"]["user_turn"]
    assert set(first["systems"]["amr"]["retrieved"]["user_turn"]) <= users
    assert second["left_out"] == "its date 'some day' is no date"
    assert not any(entry["recall"] for entry in second["systems"].values())


def test_the_pool_is_ingested_once_and_asked(tmp_path: Path) -> None:
    lines = [evidence("e1", (DAY, "I bought a kayak.")), evidence("e2", (DAY, "I sold my bike."))]
    pool_folder(tmp_path, lines, [record("q1")])
    out = tmp_path / "run"
    report = ran("eval", "longmemeval", "--pooled", "--data", tmp_path, "--out", out, "--json").json
    assert report["n"] == 3
    assert report["systems"]["amr"]["turn_recall@50.all"] == report["systems"]["dense"]["session_recall@5.all"] == 1.0
    assert not any(".user" in name or ".official." in name for name in report["systems"]["amr"])
    assert "One haystack of 5 sessions" in report["notes"][0]
    assert len((out / "pooled.jsonl").read_text().splitlines()) == 10
    assert {line["as_of"] for line in lines_of(out)} == {None}


def test_the_evidence_of_complete_records_is_among_the_first_five_sessions(tmp_path: Path) -> None:
    data = test_data("longmemeval/longmemeval_s_full_dev.jsonl.gz")
    out = tmp_path / "run"
    ran("eval", "longmemeval", "--data", data, "--limit", 1, "--out", out, "--retrieval-only", "--json")
    for line in lines_of(out):
        found = line["systems"]["amr"]["retrieved"]
        assert set(line["gold"]["session"]) <= set(found["session"][:5])
        assert len(found["turn"]) == min(50, line["turns"])


def test_what_is_no_longmemeval_is_refused_in_a_sentence(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text("[1]")
    done = amr("eval", "longmemeval", "--data", other, "--out", tmp_path / "run")
    assert done.code == 3
    assert_one_sentence(done.err, "no file of LongMemEval")
