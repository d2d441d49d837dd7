"""`amr eval locomo` over a small conversation and the real ones: metrics, faults, and the script from outside."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from amr.evals.folder import read_lines
from amr.evals.locomo_questions import CATEGORIES, read_questions, with_audit
from amr.media.chats import read_chats
from tests.evals.friends import AUDIT, conversation, write_friends
from tests.support.command import amr, assert_one_sentence, environment, ran
from tests.support.data import test_data


@pytest.fixture(scope="module")
def ran_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """The report of a run over the small conversation with its audit, and the run's folder."""
    folder = tmp_path_factory.mktemp("locomo")
    data = write_friends(folder)
    (folder / "audit_errors.json").write_text(json.dumps(AUDIT), encoding="utf-8")
    done = ran("eval", "locomo", "--data", data, "--out", folder / "run", "--json")
    return done.json, folder / "run"


def test_three_systems_rank_turns_and_sessions(ran_once: tuple[dict[str, Any], Path]) -> None:
    report, out = ran_once
    assert list(report["systems"]) == ["amr", "bm25", "dense"]
    for line in read_lines(out):
        for entry in line["systems"].values():
            assert set(entry["retrieved"]) == {"turn", "session"}
            assert all(ref.startswith("D") for refs in entry["retrieved"].values() for ref in refs)
    first = read_lines(out)[0]
    assert first["id"] == "conv-1:0"
    assert first["systems"]["bm25"]["retrieved"]["turn"][0] == "D1:1"
    assert first["systems"]["bm25"]["recall"]["turn_recall@1.all"] is True


def test_metrics_are_told_for_all_for_the_answerable_and_by_category(ran_once: tuple[dict[str, Any], Path]) -> None:
    report, _ = ran_once
    n = {name: interval[2] for name, interval in report["intervals"]["amr"].items()}
    assert (n["turn_recall@10.fraction"], n["turn_recall@10.fraction.1-4"]) == (7, 6)
    assert {name: n[f"turn_recall@10.all.{name}"] for name in CATEGORIES.values()} == {
        "multi-hop": 1,
        "temporal": 1,
        "open-domain": 1,
        "single-hop": 3,
        "adversarial": 1,
    }
    for unit in ("turn", "session"):
        for k in (1, 3, 5, 10, 20, 50):
            assert {f"{unit}_recall@{k}.{kind}" for kind in ("any", "all", "fraction")} <= set(n)
        assert f"{unit}_ndcg@10" in n


def test_latency_and_embedder_are_told(ran_once: tuple[dict[str, Any], Path]) -> None:
    report, _ = ran_once
    assert report["config"]["embedder"]
    for system in report["systems"].values():
        assert system["latency_ms.p50.turn"] > 0
        assert system["latency_ms.p50.session"] > 0


def test_what_has_no_evidence_is_counted_listed_and_not_scored(ran_once: tuple[dict[str, Any], Path]) -> None:
    report, out = ran_once
    notes = "\n".join(report["notes"])
    assert "there are 5 things that could not be used" in notes
    for text in ("conv-1:5 (single-hop) goes by its other evidence: 'D9:9'", "conv-1:6", "'D30:05'", "conv-1:7"):
        assert text in notes
    lines = {line["id"]: line for line in read_lines(out)}
    assert report["n"] == len(lines) == 9
    assert lines["conv-1:6"]["left_out"]
    assert not any(entry["recall"] for entry in lines["conv-1:7"]["systems"].values())


def test_what_cannot_be_asked_is_told(ran_once: tuple[dict[str, Any], Path]) -> None:
    notes = "\n".join(ran_once[0]["notes"])
    assert "Question conv-1:8 is not asked: its category is 9" in notes
    assert "Question conv-1:9 (single-hop) has no 'answer': only its retrieval can be scored." in notes


def test_the_audit_beside_the_data_is_reported_with_and_without(ran_once: tuple[dict[str, Any], Path]) -> None:
    report, out = ran_once
    assert report["intervals"]["amr"]["turn_recall@10.fraction.sound_evidence"][2] == 6
    assert "the evidence of 1 questions wrong" in "\n".join(report["notes"])
    lines = {line["id"]: line for line in read_lines(out)}
    assert lines["conv-1:1"]["citation_error"] == "WRONG_CITATION"
    assert "gold_error" not in lines["conv-1:1"]
    assert lines["conv-1:3"]["gold_error"] == "HALLUCINATION"


def test_without_a_model_only_retrieval_is_measured(ran_once: tuple[dict[str, Any], Path]) -> None:
    report, _ = ran_once
    assert report["config"]["model"] is None
    assert not [name for name in report["systems"]["amr"] if name.startswith(("judge", "f1", "failed"))]
    assert any("Only retrieval is measured" in note for note in report["notes"])


def test_a_limit_is_of_each_conversation(tmp_path: Path) -> None:
    data = write_friends(tmp_path, conversation("one"), conversation("two"))
    done = ran("eval", "locomo", "--data", data, "--limit", 2, "--out", tmp_path / "run", "--json")
    assert [line["id"] for line in read_lines(tmp_path / "run")] == ["one:0", "one:1", "two:0", "two:1"]
    assert done.json["n"] == 4


def test_the_data_is_found_where_it_is_downloaded_to(tmp_path: Path) -> None:
    (tmp_path / "data" / "locomo").mkdir(parents=True)
    write_friends(tmp_path / "data" / "locomo")
    done = amr("eval", "locomo", "--limit", 1, "--json", cwd=tmp_path)
    assert done.code == 0, done
    assert done.json["data"].endswith("data/locomo/locomo10.json")


def test_data_that_is_not_there_says_how_to_get_it_and_leaves_nothing(tmp_path: Path) -> None:
    for arguments in ([], ["--data", tmp_path / "none.json"]):
        done = amr("eval", "locomo", *arguments, "--out", tmp_path / "run", cwd=tmp_path)
        assert done.code == 3
        assert_one_sentence(done.err, "scripts/download_datasets.sh locomo", "data/locomo/", "https://", "--data")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--pooled"], "--pooled"),
        (["--retrieval-only", "--model", "openai:gpt-4o-mini"], "--model"),
        (["--only-failed"], "no run"),
        (["--resume"], "no run"),
    ],
)
def test_flags_that_do_not_fit_are_refused(tmp_path: Path, flags: list[str], told: str) -> None:
    done = amr("eval", "locomo", "--data", write_friends(tmp_path), *flags, "--out", tmp_path / "run", cwd=tmp_path)
    assert done.code == 2
    assert_one_sentence(done.err, told)


def test_conversations_without_a_name_or_questions_are_told(tmp_path: Path) -> None:
    nameless, silent = conversation("x"), conversation("silent")
    del nameless["sample_id"], silent["qa"]
    data = write_friends(tmp_path, nameless, silent)
    found = read_questions(data, list(read_chats(data)))
    assert {one.scope for one in found.questions} == {"locomo10-1"}
    assert "silent has no list of questions ('qa')." in found.problems


def test_two_conversations_of_one_name_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    data = write_friends(tmp_path, conversation("x"), conversation("x"))
    done = amr("eval", "locomo", "--data", data, "--out", tmp_path / "run")
    assert done.code == 3
    assert_one_sentence(done.err, "2 conversations named x", "sample_id")
    assert not (tmp_path / "run").exists()


def test_an_audit_that_is_none_is_refused(tmp_path: Path) -> None:
    audit = tmp_path / "audit.json"
    audit.write_text('[{"question_id": 3}]')
    done = amr("eval", "locomo", "--data", write_friends(tmp_path), "--audit", audit, "--out", tmp_path / "run")
    assert done.code == 3
    assert_one_sentence(done.err, "audit.json", "--audit")


# --- the real conversations ----------------------------------------------------------------------------------


def test_the_real_questions_are_read_and_their_faults_told() -> None:
    data = test_data("locomo/locomo8_dev.json.gz")
    found = read_questions(data, list(read_chats(data)))
    assert len(found.questions) == 1586
    assert sum(bool(one.left_out) for one in found.questions) == 5
    assert len(found.problems) == 8
    audited = with_audit(found, test_data("locomo/audit_errors_dev.json.gz"))
    assert sum("gold_error" in one.known for one in audited.questions) == 79
    assert audited.problems == found.problems


def test_the_script_from_outside_scores_the_same(tmp_path: Path) -> None:
    data = test_data("locomo/locomo8_dev.json.gz")
    script = data.parents[2] / "score" / "locomo_recall.py"
    if not script.exists():
        pytest.skip("the script that scores from outside is not here")
    one = json.loads(gzip.decompress(data.read_bytes()))[-1]
    one["qa"] = [question for question in one["qa"] if question["evidence"]][:1] + one["qa"][38:40]
    part = tmp_path / "locomo.json.gz"
    part.write_bytes(gzip.compress(json.dumps([one]).encode()))
    out = tmp_path / "run"
    report = ran("eval", "locomo", "--data", part, "--retrieval-only", "--out", out, "--json").json
    (tmp_path / "amr").write_text(f'#!/bin/sh\nexec {sys.executable} -m amr.cli "$@"\n')
    (tmp_path / "amr").chmod(0o755)
    command = [sys.executable, str(script), "--data", str(part), "--memory", str(tmp_path / "memory")]
    command += ["--amr", str(tmp_path / "amr"), "--out", str(tmp_path / "rows.jsonl")]
    scored = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    theirs = [json.loads(text) for text in (tmp_path / "rows.jsonl").read_text().splitlines()]
    mine = [line for line in read_lines(out) if "left_out" not in line]
    assert [row["got"] for row in theirs] == [line["systems"]["amr"]["retrieved"]["turn"][:10] for line in mine]
    assert [row["gold"] for row in theirs] == [sorted(line["gold"]["turn"]) for line in mine]
    told = json.loads(scored.stdout)
    assert told["left_out"] == sum("left_out" in line for line in read_lines(out)) == 1
    for name, category in (("1-5", ""), *((name, f".{name}") for name in CATEGORIES.values() if name in told)):
        for metric in ("turn_recall@10.fraction", "turn_recall@10.all"):
            assert report["systems"]["amr"][f"{metric}{category}"] == pytest.approx(told[name][metric], abs=6e-4)
