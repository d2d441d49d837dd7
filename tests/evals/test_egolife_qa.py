"""EgoLifeQA: when a question is asked, at which moments its answer was to be seen, and what retrieved pieces count."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amr.config import load_settings
from amr.errors import BadInput
from amr.evals.egolife_qa_gold import moments, question_of, read_questions
from amr.evals.egolife_qa_scoring import Clips, Piece, hits_of, piece_of
from amr.evals.egolife_qa_week import Week, write_clips
from amr.evals.evaluate import evaluate
from amr.evals.questions import EvalQuestion
from amr.evals.report import report_json
from amr.evals.run import Options
from amr.media.clip_captions import read_clip_captions
from amr.media.egolife import DAY_MS, FIRST_DAY_MS
from amr.retrieve.times import show_moment
from tests.support.command import amr, assert_one_sentence, ran
from tests.support.data import test_data
from tests.support.model_server import ModelServer
from tests.support.models import KEY

ENTRY: dict[str, Any] = {
    "ID": "53",
    "query_time": {"date": "DAY1", "time": "19154212"},
    "type": "EntityLog",
    "question": "Who bought the hot pot base on the table?",
    "choice_a": "Shure",
    "choice_b": "Me",
    "choice_c": "Tasha",
    "choice_d": "Lucia",
    "answer": "A",
    "target_time": {"date": "DAY1", "time": "17364916"},
}


def shown(given: Any) -> list[str]:
    return [show_moment(one, None) for one in moments(given)]


def test_a_target_is_one_moment_several_of_a_day_or_of_several_days() -> None:
    assert shown({"date": "DAY1", "time": "17364916"}) == ["DAY1 17:36:49"]
    assert shown({"date": "Day2", "time_list": ["13512718", "9394908"]}) == ["DAY2 09:39:49", "DAY2 13:51:27"]
    assert shown({"date": "DAY4", "time": "17044917DAY4_20593813DAY6_19483807"}) == [
        "DAY4 17:04:49",
        "DAY4 20:59:38",
        "DAY6 19:48:38",
    ]
    assert shown([{"date": "DAY1", "time": "11000000"}, {"date": "DAY2", "time": "12000000"}]) == [
        "DAY1 11:00:00",
        "DAY2 12:00:00",
    ]


@pytest.mark.parametrize(
    "given", [None, {}, "DAY1", {"date": "DAY1"}, {"date": "DAY1", "time": "99999999"}, {"date": "one", "time": "1"}]
)
def test_what_is_no_time_has_no_moments(given: Any) -> None:
    assert moments(given) == []


def test_a_question_is_asked_as_of_its_time_with_its_choices_known() -> None:
    question, problems = question_of(ENTRY, 1)
    assert question is not None and not problems
    assert (question.asked_at, question.category, question.answer) == ("DAY1 19:15:42", "EntityLog", "A")
    assert question.known["choices"] == {"A": "Shure", "B": "Me", "C": "Tasha", "D": "Lucia"}
    assert question.gold["moment"] == ("DAY1 17:36:49",)


@pytest.mark.parametrize(
    ("target", "why"),
    [
        (None, "it has no target_time"),
        ({"date": "DAY1", "time": "soon"}, "is no time"),
        ({"date": "DAY2", "time": "10000000"}, "comes after DAY1 19:15:42"),
    ],
)
def test_a_target_that_cannot_be_found_is_told_and_not_scored(target: Any, why: str) -> None:
    question, problems = question_of({**ENTRY, "target_time": target}, 1)
    assert question is not None and why in question.left_out
    assert len(problems) == 1 and "its retrieval is not scored" in problems[0]
    assert hits_of(question, [], Clips([], [])) == {}


def test_an_entry_that_cannot_be_asked_is_told() -> None:
    for changed in ({"question": " "}, {"query_time": {"date": "DAY1"}}):
        question, problems = question_of({**ENTRY, **changed}, 1)
        assert question is None and len(problems) == 1
    _, problems = question_of({**ENTRY, "answer": "E"}, 1)
    assert problems == ["Question 53: the answer 'E' is none of its choices."]


def test_another_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text(json.dumps([{"question": "What?"}]))
    with pytest.raises(BadInput, match=r"no questions of EgoLifeQA"):
        read_questions(file)


# --- scoring ------------------------------------------------------------------------------------------------

CLIPS = Clips([0, 30_000, 65_000, 600_000], [30_000, 60_000, 95_000, 630_000])


def asked(*targets: int) -> EvalQuestion:
    known = {"target_ms": list(targets)}
    return EvalQuestion(id="1", question="?", category="TaskMaster", scope="default", gold={}, known=known)


@pytest.mark.parametrize(
    ("moment", "place"), [(0, 0), (29_999, 0), (30_000, 1), (61_000, 1), (64_000, 2), (-5, 0), (10**7, 3)]
)
def test_a_moment_between_clips_belongs_to_the_nearer(moment: int, place: int) -> None:
    assert CLIPS.at(moment) == place


def test_a_piece_counts_in_its_targets_clip() -> None:
    pieces = [Piece("d", 600_000, 601_000)] * 5 + [Piece("b", 31_000, 32_000)]
    hits = hits_of(asked(59_000), pieces, CLIPS)
    assert (hits["target_recall@5.any"], hits["target_recall@10.any"]) == (False, True)
    assert hits["target_recall@10.any.TaskMaster"] is True
    assert hits["target_recall@5.within_3min.any"] is False


def test_a_piece_that_lasts_over_the_moment_counts_whatever_its_clip() -> None:
    assert hits_of(asked(40_000), [Piece("a", 29_000, 41_000)], CLIPS)["target_recall@5.any"] is True


def test_nearby_pieces_count_within_three_minutes() -> None:
    hits = hits_of(asked(210_000), [Piece("b", 29_000, 30_000)], CLIPS)
    assert (hits["target_recall@5.any"], hits["target_recall@5.within_3min.any"]) == (False, True)
    assert hits_of(asked(210_001), [Piece("b", 29_000, 30_000)], CLIPS)["target_recall@5.within_3min.any"] is False


def test_of_several_targets_the_share_is_told() -> None:
    hits = hits_of(asked(1_000, 70_000), [None, Piece("a", 0, 1_000)], CLIPS)
    told = [hits[f"target_recall@5.{what}"] for what in ("any", "all", "fraction")]
    assert told == [True, False, 0.5]


def test_a_piece_has_its_times_from_the_reply() -> None:
    evidence = {"time": "2000-01-02T11:00:00", "t_start": 5.0, "t_end": 7.5, "ref": "DAY2_A1_JAKE_11000000.mp4"}
    start = FIRST_DAY_MS + DAY_MS + 11 * 3_600_000
    assert piece_of(evidence) == Piece("DAY2_A1_JAKE_11000000.mp4", start, start + 2_500)
    assert piece_of({"time": None, "t_start": 5.0}) is None


def test_the_published_sample_is_read_without_a_fault() -> None:
    found = read_questions(test_data("egolife/EgoLifeQA_A1_JAKE_sample_dev.json"))
    assert found.questions and not found.problems
    assert all(len(one.gold["moment"]) == 1 and not one.left_out for one in found.questions)


# --- the command --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer(mode="local", key=KEY) as listening:
        yield listening


@pytest.fixture
def week(tmp_path: Path) -> Path:
    """A folder with three clips and two questions; the answer to the first comes again after it was asked."""
    said = {
        "DAY1_A1_JAKE_17363000.mp4": [
            (173645, 173647, "Shure: I bought the hot pot base.", "transcript"),
            (173650, 173652, "I look at the table.", "caption"),
        ],
        "DAY1_A1_JAKE_18000000.mp4": [(180001, 180002, "I wash a cup.", "caption")],
        "DAY1_A1_JAKE_20000000.mp4": [(200001, 200002, "Alice: Who bought the hot pot base?", "transcript")],
    }
    keys = ("start", "end", "text", "type")
    lines = [
        json.dumps({"video_file": name, "data": [dict(zip(keys, entry, strict=True)) for entry in entries]})
        for name, entries in said.items()
    ]
    (tmp_path / "A1_JAKE_sync_clips.jsonl").write_text("\n".join(lines) + "\n")
    untimed = {key: value for key, value in ENTRY.items() if key != "target_time"} | {"ID": "54"}
    (tmp_path / "EgoLifeQA_A1_JAKE.json").write_text(json.dumps([ENTRY, untimed]))
    return tmp_path


def test_the_week_is_cut_at_the_time_of_the_question(week: Path) -> None:
    out = week / "run"
    report = ran("eval", "egolife", "--data", week, "--out", out, "--json").json
    assert report["n"] == 2
    for system in ("amr", "bm25", "dense"):
        assert report["systems"][system]["target_recall@5.any.EntityLog"] == 1.0
        assert report["intervals"][system]["target_recall@5.any"][2] == 1
    assert "Question 54: it has no target_time; its retrieval is not scored." in report["notes"]
    line = json.loads((out / "questions.jsonl").read_text().splitlines()[0])
    for entry in line["systems"].values():
        assert entry["retrieved"]["turn"] and not any("20000000" in ref for ref in entry["retrieved"]["turn"])
    assert line["gold"]["session"] == ["DAY1_A1_JAKE_17363000.mp4"]


def test_the_clips_of_the_targets_hold_what_was_said(week: Path) -> None:
    life = Week(read_clip_captions(week / "A1_JAKE_sync_clips.jsonl"))
    question, _ = question_of(ENTRY, 1)
    assert question is not None
    (session,) = life.haystack([life.with_clips(question)]).sessions
    assert [(turn.speaker, turn.text) for turn in session.turns] == [
        ("Shure", "I bought the hot pot base."),
        ("Jake", "I look at the table."),
    ]


@pytest.mark.parametrize("oracle", [False, True])
def test_a_model_answers_with_a_letter(
    week: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch, oracle: bool
) -> None:
    monkeypatch.setenv("AMR_API_KEY", KEY)
    server.log.clear()
    model = f"{server.base_url}#text-only"
    options = Options(data=week, out=week / "run", model=model, oracle=oracle, limit=1)
    report = report_json(evaluate("egolife", options, load_settings(None, jobs=2)))
    assert set(report["systems"]) == ({"amr"} if oracle else {"amr", "bm25", "dense"})
    assert report["systems"]["amr"]["letter_accuracy"] in (0.0, 1.0)
    assert ("target_recall@5.any" in report["systems"]["amr"]) is not oracle
    (call,) = server.log.calls("eval_answer")
    assert "I bought the hot pot base." in call.text and "C. Tasha" in call.text
    assert "Asked at: DAY1 19:15:42" in call.text


def test_captions_and_transcripts_of_hours_become_clips(tmp_path: Path) -> None:
    for kind, text in (("Transcript", "Shure: I bought it."), ("DenseCaption", "I look at\nthe table.")):
        folder = tmp_path / "EgoLifeCap" / kind / "A1_JAKE" / "DAY1"
        folder.mkdir(parents=True)
        cues = f"1\n00:36:49,100 --> 00:36:51,000\n{text}\n\n2\n00:40:00,000 --> 00:40:01,000\nI sit.\n"
        (folder / "A1_JAKE_DAY1_17000000.srt").write_text(cues)
    path = write_clips(tmp_path, tmp_path / "clips.jsonl")
    first, second = (json.loads(line) for line in path.read_text().splitlines())
    assert (first["video_file"], second["video_file"]) == ("DAY1_A1_JAKE_17363000.mp4", "DAY1_A1_JAKE_17400000.mp4")
    assert first["data"] == [
        {"start": 173649, "end": 173651, "text": "I look at the table.", "type": "caption"},
        {"start": 173649, "end": 173651, "text": "Shure: I bought it.", "type": "transcript"},
    ]
    (camera,) = read_clip_captions(path)
    assert len(camera.lines) == 2 and not camera.mended["outside"]


def test_a_folder_without_questions_is_refused_in_a_sentence(week: Path) -> None:
    (week / "EgoLifeQA_A1_JAKE.json").unlink()
    done = amr("eval", "egolife", "--data", week, "--out", week / "run")
    assert done.code == 3
    assert_one_sentence(done.err)
    assert not (week / "run").exists()
