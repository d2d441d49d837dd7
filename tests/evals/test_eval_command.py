"""`amr eval` from the command line over small data: its table, its JSON, its folder, and what it says of bad files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amr.memory import Memory
from tests.evals.kitchen import write_kitchen
from tests.support.command import amr, assert_one_sentence, ran

CLIPS = [
    ("DAY1_A1_JAKE_11000000.mp4", [(110002, 110004, "I put the phone on the table.", "caption")]),
    ("DAY1_A1_JAKE_11003000.mp4", [(110035, 110036, "Alice: Where is the scale?", "transcript")]),
    ("DAY1_A1_JAKE_12000000.mp4", [(120010, 120012, "I put the phone on the windowsill.", "caption")]),
    ("DAY5_A1_JAKE_12000000.mp4", [(120010, 120012, "I put the phone in my pocket.", "caption")]),
]
QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "q1",
        "type": "where_last",
        "question": "Where did I put my phone?",
        "answer": "on the windowsill",
        "answer_aliases": ["windowsill"],
        "wrong_but_tempting": ["on the table"],
        "query_time": {"date": "DAY1", "time": "13000000"},
        "support": [{"date": "DAY1", "start": 120010}],
    },
    {
        "id": "q2",
        "type": "abstain",
        "question": "Where did I put my passport?",
        "answer": "not known",
        "query_time": {"date": "DAY5", "time": "13000000"},
        "support": [],
    },
]


OBJECT_QUESTION = {
    "sample_id": "o1",
    "template_id": "latest_location",
    "object_name": "bowl",
    "query": "Earlier, you saw the bowl on table. Where did you see it the next time before now?",
    "query_time": "DAY2_A3_TASHA_21140000",
    "evidence_times": [
        {
            "clip_id": clip,
            "object_snapshot": {"object_name": "bowl", "status": [], "location": place, "interaction": "untouched."},
            "dense_caption_context": [],
        }
        for clip, place in (("DAY1_A3_TASHA_11253000", "on table"), ("DAY2_A3_TASHA_21140000", "bottom of right sink"))
    ],
    "choices": [
        {"label": "A", "text": "front left of a chair."},
        {"label": "B", "text": "on table."},
        {"label": "C", "text": "bottom of right sink."},
    ],
    "correct_choice": "C",
}


@pytest.fixture
def week(tmp_path: Path) -> tuple[Path, Path]:
    keys = ("start", "end", "text", "type")
    lines = [
        json.dumps({"video_file": name, "data": [dict(zip(keys, entry, strict=True)) for entry in entries]})
        for name, entries in CLIPS
    ]
    clips, questions = tmp_path / "clips.jsonl", tmp_path / "questions.json"
    clips.write_text("\n".join(lines) + "\n", encoding="utf-8")
    questions.write_text(json.dumps(QUESTIONS), encoding="utf-8")
    return clips, questions


def test_the_week_is_ingested_asked_and_reported(week: tuple[Path, Path], tmp_path: Path) -> None:
    clips, questions = week
    out = tmp_path / "run"
    arguments = ["egolife-text", "--data", clips, "--questions", questions, "--limit", 3, "--out", out]
    report = json.loads(ran("eval", *arguments, "--json").out)
    assert report["benchmark"] == "egolife-text"
    assert set(report["systems"]) == {"amr", "bm25", "bm25+recency", "dense"}
    mine = report["systems"]["amr"]
    assert (mine["answer_accuracy.where_last"], mine["stale.where_last"], mine["support_recall@10"]) == (1.0, 0.0, 1.0)
    assert mine["answer_accuracy.abstain.day5-7"] == 1.0
    assert report["intervals"]["amr"]["answer_accuracy.where_last"] == pytest.approx([0.2065, 1.0, 1])
    assert report["out"] == str(out)
    config = json.loads((out / "config.json").read_text())
    assert (config["benchmark"], config["limit"], config["data"]) == ("egolife-text", 3, str(clips))
    assert json.loads((out / "report.json").read_text()) == report
    assert "| answer_accuracy.where_last | 1 | 1.000 [0.21, 1.00] |" in (out / "report.md").read_text()
    asked = [json.loads(line) for line in (out / "questions.jsonl").read_text().splitlines()]
    assert len(asked) == report["n"]
    assert asked[0]["systems"]["amr"]["verdict"] == {"right": True, "stale": False, "found": True, "support_rank": 1}


def test_a_second_run_writes_nothing_into_the_memory(week: tuple[Path, Path], tmp_path: Path) -> None:
    clips, questions = week
    arguments = ["egolife-text", "--data", clips, "--questions", questions, "--limit", 1, "--out", tmp_path / "run"]
    ran("eval", *arguments)
    before = Memory(tmp_path / "run" / "memory").status().commits
    text = ran("eval", *arguments).out
    assert Memory(tmp_path / "run" / "memory").status().commits == before
    assert "answer_accuracy.where_last" in text


def test_a_given_memory_is_asked_and_not_made_again(week: tuple[Path, Path], tmp_path: Path) -> None:
    clips, questions = week
    ran("ingest", clips, "--memory", tmp_path / "mine")
    before = Memory(tmp_path / "mine").status().commits
    arguments = ["--data", clips, "--questions", questions, "--limit", 1, "--memory", tmp_path / "mine"]
    report = json.loads(ran("eval", "egolife-text", *arguments, "--out", tmp_path / "run", "--json").out)
    assert report["systems"]["amr"]["answer_accuracy.where_last"] == 1.0
    assert Memory(tmp_path / "mine").status().commits == before
    assert not (tmp_path / "run" / "memory").exists()


def test_object_questions_beside_the_questions_are_asked_too(week: tuple[Path, Path], tmp_path: Path) -> None:
    clips, questions = week
    (tmp_path / "A3_TASHA_mcq.json").write_text(json.dumps([OBJECT_QUESTION]), encoding="utf-8")
    arguments = ["--data", clips, "--questions", questions, "--limit", 1, "--out", tmp_path / "run"]
    report = json.loads(ran("eval", "egolife-text", *arguments, "--json").out)
    assert report["systems"]["amr"]["letter_accuracy.latest_location"] == 1.0
    asked = [json.loads(line) for line in (tmp_path / "run" / "questions.jsonl").read_text().splitlines()]
    assert asked[-1]["as_of"] == "DAY2 21:14:30"
    assert "front left of a chair" not in (tmp_path / "run" / "objects.jsonl").read_text()


def test_the_kitchen_is_ingested_asked_and_reported(tmp_path: Path) -> None:
    data = write_kitchen(tmp_path)
    report = json.loads(ran("eval", "epic", "--data", data, "--out", tmp_path / "run", "--json").out)
    assert set(report["systems"]) == {"amr", "bm25", "bm25+recency", "lookup"}
    names = {f"accuracy.{kind}" for kind in ("right_after", "how_many", "named_place", "first_take", "last_put")}
    assert names <= set(report["systems"]["amr"])
    assert report["systems"]["amr"]["accuracy.named_place"] == 1.0
    assert report["systems"]["lookup"]["accuracy.last_put"] == 1.0


def test_a_channel_can_be_switched_off_and_must_exist(tmp_path: Path) -> None:
    data = write_kitchen(tmp_path)
    out = ["--out", tmp_path / "run", "--limit", 1]
    report = json.loads(ran("eval", "epic", "--data", data, "--without", "temporal", *out, "--json").out)
    assert report["config"]["without"] == ["temporal"]
    wrong = amr("eval", "epic", "--data", data, "--without", "telepathy", *out)
    assert wrong.code == 2
    assert_one_sentence(wrong.err, "telepathy", "temporal")


def test_a_missing_file_says_where_to_get_it_and_leaves_no_folder(tmp_path: Path) -> None:
    out = tmp_path / "run"
    for arguments in (["epic"], ["epic", "--data", tmp_path / "no.csv"], ["egolife-text", "--data", tmp_path / "no"]):
        done = amr("eval", *arguments, "--out", out)
        assert done.code == 3
        assert_one_sentence(done.err, "--data", "https://")
    assert not out.exists()


def test_class_files_must_lie_beside_the_narrations(tmp_path: Path) -> None:
    data = write_kitchen(tmp_path)
    (tmp_path / "EPIC_100_noun_classes.csv").unlink()
    done = amr("eval", "epic", "--data", data, "--out", tmp_path / "run")
    assert done.code == 3
    assert_one_sentence(done.err, "EPIC_100_noun_classes.csv", "https://")


def test_a_question_without_a_key_is_named(week: tuple[Path, Path], tmp_path: Path) -> None:
    clips, questions = week
    broken = [QUESTIONS[0], {name: value for name, value in QUESTIONS[1].items() if name != "query_time"}]
    questions.write_text(json.dumps(broken), encoding="utf-8")
    done = amr("eval", "egolife-text", "--data", clips, "--questions", questions, "--out", tmp_path / "run")
    assert done.code == 3
    assert_one_sentence(done.err, "question 2", "'query_time'")


def test_there_is_no_such_benchmark(tmp_path: Path) -> None:
    done = amr("eval", "imagenet", "--out", tmp_path / "run")
    assert done.code == 2
    assert_one_sentence(done.err, "imagenet", "egolife-text", "epic")


def test_a_folder_of_another_benchmark_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"benchmark": "egolife-text"}')
    done = amr("eval", "epic", "--data", write_kitchen(tmp_path), "--out", tmp_path)
    assert done.code == 2
    assert_one_sentence(done.err, "egolife-text", "--out")
