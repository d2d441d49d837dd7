"""The rules for the week: each by an example, and all of them against the script that scores from outside."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from amr.evals.week_scoring import judge, supports_of
from tests.support.data import test_data

WHERE = {
    "type": "where_last",
    "answer": "on the windowsill",
    "answer_aliases": ["windowsill", "window sill"],
    "wrong_but_tempting": ["in my pocket"],
    "support": [{"date": "DAY2", "start": 160210}],
}
WHEN = {"type": "when", "answer": "13:14:51", "support": [{"date": "DAY1", "start": 131451}]}
ABSTAIN = {"type": "abstain", "answer": "not known", "support": []}
HOW_OFTEN = {"type": "how_often", "answer": "three times", "wrong_but_tempting": ["twice"], "support": []}


def says(answer: str, found: bool = True, evidence: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"answer": answer, "found": found, "evidence": evidence or []}


def seen(time: str, seconds: float) -> dict[str, Any]:
    return {"time": time, "t_start": 0.0, "t_end": seconds}


def test_an_alias_must_be_there_as_whole_words() -> None:
    assert judge(WHERE, says("On the windowsill: …")).right
    assert not judge(WHERE, says("On the windowsills")).right


def test_a_tempting_place_is_stale_even_beside_the_right_one() -> None:
    verdict = judge(WHERE, says("It was in your pocket, then on the windowsill."))
    assert (verdict.right, verdict.stale) == (False, True)


def test_elsewhere_a_tempting_answer_is_stale_only_when_nothing_right_is_said() -> None:
    assert judge(HOW_OFTEN, says("Twice.")).stale
    assert not judge(HOW_OFTEN, says("Three times, not twice.")).stale


def test_what_was_not_found_is_never_right() -> None:
    assert not judge(WHERE, says("windowsill", found=False)).right
    assert judge(ABSTAIN, says("", found=False)).right
    assert not judge(ABSTAIN, says("In the drawer.")).right


@pytest.mark.parametrize(
    ("answer", "right"),
    [("13:15:50", True), ("13:15:52", False), ("13:13", True), ("13:12", False), ("1:14 pm", False), ("", False)],
)
def test_a_time_may_be_a_minute_off(answer: str, right: bool) -> None:
    assert judge(WHEN, says(answer)).right == right


def test_support_is_short_evidence_that_contains_a_supporting_line() -> None:
    away, near, long = "2000-01-02T16:01:00", "2000-01-02T16:02:12", "2000-01-02T16:02:00"
    assert judge(WHERE, says("x", evidence=[seen(away, 3), seen(near, 1)])).support == 2
    assert judge(WHERE, says("x", evidence=[seen(long, 60)])).support is None
    assert judge(WHERE, says("x", evidence=[seen(away, 3)])).support is None


# --- against the script from outside -------------------------------------------------------------------------

AMR = """\
#!{python}
import json, sys
replies = json.load(open({replies!r}))
print(json.dumps(replies[sys.argv[2]]))
"""


def _replies(questions: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Answers of every sort: right, tempting, both, times near and far, evidence at every rank, nothing found."""
    replies = {}
    for number, question in enumerate(questions):
        alias = (question.get("answer_aliases") or [question["answer"]])[0]
        wrong = (question.get("wrong_but_tempting") or ["in the moon"])[0]
        supports = supports_of(question)
        moment = supports[0] if supports else None
        clock = "" if moment is None else f"{moment + timedelta(seconds=(number % 5) * 20):%H:%M:%S}"
        sorts = [alias, wrong, f"{alias} not {wrong}", clock, f"at {clock[:5]}", "", f"The {alias.upper()}!"]
        evidence = []
        if moment is not None:
            start = moment - timedelta(seconds=number % 8)
            evidence = [{**seen("2000-01-09T00:00:00", 1.0)}] * (number % 12)
            evidence.append({**seen(f"{start:%Y-%m-%dT%H:%M:%S}", float(number % 40)), "text": "…"})
        replies[question["question"]] = says(sorts[number % len(sorts)], number % 6 != 0, evidence)
    return replies


def test_the_script_from_outside_judges_the_same(tmp_path: Path) -> None:
    file = test_data("egolife/authored_qa_dev.json")
    script = file.parents[2] / "score" / "egolife_week.py"
    if not script.exists():
        pytest.skip("the script that scores from outside is not here")
    questions = json.loads(file.read_text(encoding="utf-8"))
    replies = _replies(questions)
    (tmp_path / "replies.json").write_text(json.dumps(replies), encoding="utf-8")
    command = tmp_path / "amr"
    command.write_text(AMR.format(python=sys.executable, replies=str(tmp_path / "replies.json")), encoding="utf-8")
    command.chmod(0o755)
    arguments = ["--questions", file, "--memory", tmp_path, "--amr", command, "--out", tmp_path / "log.jsonl"]
    subprocess.run([sys.executable, script, *arguments], check=True, capture_output=True)
    logged = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(logged) == len(questions)
    mine = []
    for question in questions:
        verdict = judge(question, replies[question["question"]])
        support = verdict.supported(10) if question["support"] else None
        mine.append((question["id"], verdict.right, verdict.stale, verdict.found, support))
    assert mine == [(one["id"], one["ok"], one["stale"], one["found"], one["support@10"]) for one in logged]
    assert {True, False} <= {one[1] for one in mine} & {one[2] for one in mine} & {one[4] for one in mine}
