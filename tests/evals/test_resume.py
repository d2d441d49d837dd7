"""Killed at any time, a run goes on where it was and reports what an undisturbed one reports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from amr.evals.folder import read_lines
from tests.evals.friends import QUESTIONS, conversation, write_friends
from tests.support.command import amr, assert_one_sentence, environment, ran, start, stopped


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    asked = [{**one, "question": f"{one['question']} ({number})"} for number in range(4) for one in QUESTIONS[:6]]
    return write_friends(tmp_path_factory.mktemp("data"), conversation("one", asked), conversation("two", asked))


def lasting(report: dict[str, Any]) -> dict[str, Any]:
    """What of a report does not depend on when and where it was made."""
    figures = {
        part: {
            system: {name: value for name, value in metrics.items() if not name.startswith("latency_ms")}
            for system, metrics in report[part].items()
        }
        for part in ("systems", "intervals")
    }
    return {**figures, "n": report["n"], "notes": report["notes"]}


def lines_without_times(folder: Path) -> list[dict[str, Any]]:
    lines = read_lines(folder)
    for line in lines:
        for entry in line["systems"].values():
            del entry["seconds"]
    return lines


def killed(data: Path, out: Path, after_lines: int, *flags: object) -> None:
    """Starts a run in a process group of its own and kills the group once it has kept so many lines."""
    command = [sys.executable, "-m", "amr.cli", "eval", "locomo", "--data", data, "--out", out, *flags]
    process = subprocess.Popen(
        [str(part) for part in command],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    lines = out / "questions.jsonl"
    deadline = time.monotonic() + 60
    while process.poll() is None and (not lines.exists() or lines.read_bytes().count(b"\n") < after_lines):
        assert time.monotonic() < deadline
        time.sleep(0.002)
    assert process.poll() is None, process.communicate()
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_a_run_that_was_killed_twice_reports_what_an_undisturbed_one_does(data: Path, tmp_path: Path) -> None:
    whole = ran("eval", "locomo", "--data", data, "--out", tmp_path / "whole", "--json").json
    cut = tmp_path / "cut"
    killed(data, cut, 3)
    before = read_lines(cut)
    assert 3 <= len(before) < whole["n"]
    killed(data, cut, len(before) + 5, "--resume")
    kept = read_lines(cut)
    assert [line["systems"] for line in kept[: len(before)]] == [line["systems"] for line in before]
    done = ran("eval", "locomo", "--data", data, "--out", cut, "--resume", "--json")
    assert f"{len(kept)} of {whole['n']} questions have been asked before" in done.err
    assert lasting(done.json) == lasting(whole)
    assert lines_without_times(cut) == lines_without_times(tmp_path / "whole")


def test_ctrl_c_says_how_to_go_on(data: Path, tmp_path: Path) -> None:
    process = start("eval", "locomo", "--data", data, "--out", tmp_path / "run")
    lines = tmp_path / "run" / "questions.jsonl"
    assert stopped(process, lambda: lines.exists() and lines.stat().st_size > 0, 0.0, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"--resume --out {tmp_path / 'run'} continues this run" in told
    assert told.splitlines()[-1].endswith("Run the same command with --resume to continue.")


def test_a_run_that_is_done_is_reported_again_without_asking_and_no_other_goes_on_in_it(
    data: Path, tmp_path: Path
) -> None:
    arguments = ["eval", "locomo", "--data", data, "--limit", 2, "--out", tmp_path / "run"]
    ran(*arguments)
    before = (tmp_path / "run" / "questions.jsonl").read_bytes()
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    again = ran(*arguments, "--resume", "--json").json
    assert (tmp_path / "run" / "questions.jsonl").read_bytes() == before
    assert again == report
    other = amr("eval", "locomo", "--data", data, "--limit", 3, "--out", tmp_path / "run", "--resume")
    assert other.code == 2
    assert_one_sentence(other.err, "limit = 2, not 3", "--out")


def test_without_a_folder_the_newest_run_goes_on(data: Path, tmp_path: Path) -> None:
    first = amr("eval", "locomo", "--data", data, "--limit", 1, "--json", cwd=tmp_path)
    again = amr("eval", "locomo", "--data", data, "--limit", 1, "--resume", "--json", cwd=tmp_path)
    assert (first.code, again.code) == (0, 0), (first, again)
    assert again.json["out"] == first.json["out"]
    assert len(list((tmp_path / "amr-eval").iterdir())) == 1
