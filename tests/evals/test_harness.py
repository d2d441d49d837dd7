"""The harness: lines are all that a report is made from, and what failed is neither right nor wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from amr.config import load_settings
from amr.errors import BadInput, ProviderError, UsageError
from amr.evals.asking import Asked, Reply
from amr.evals.folder import RunFolder, differing, read_lines
from amr.evals.report import report_json, report_text
from amr.evals.run import Options, Run
from amr.evals.tally import Hits, figures_of

CONFIG = {"benchmark": "test", "limit": None, "data_sha256": "a", "settings": {"embedder": "embedded", "jobs": 4}}


def line(name: str, **systems: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": name, "question": f"{name}?", "gold": {}, "systems": systems}


# --- figures ------------------------------------------------------------------------------------------------


def test_what_is_right_or_wrong_gets_a_wilson_interval_and_a_fraction_that_of_a_mean() -> None:
    lines = [line(str(i), amr={"hits": {"any": hit, "fraction": part}}) for i, (hit, part) in enumerate(HALVES)]
    figures = figures_of(lines)["amr"]
    assert (figures["any"].value, figures["any"].low) == (0.5, pytest.approx(0.1500, abs=1e-4))
    assert figures["fraction"].value == pytest.approx(0.5)
    assert figures["fraction"].low == pytest.approx(0.0, abs=0.1)
    assert figures["fraction"].low > 0


HALVES = [(True, 0.75), (False, 0.25), (True, 1.0), (False, 0.0)]


def test_one_fraction_alone_tells_nothing_of_the_mean() -> None:
    figure = figures_of([line("q", amr={"hits": {"fraction": 0.5}})])["amr"]["fraction"]
    assert (figure.value, figure.low, figure.high) == (0.5, 0.0, 1.0)


def test_fractions_that_are_all_the_same_keep_a_margin() -> None:
    figure = figures_of([line(str(i), amr={"hits": {"fraction": 0.0}}) for i in range(10)])["amr"]["fraction"]
    assert (figure.low, figure.high) == (0.0, pytest.approx(0.2775, abs=1e-4))


def test_recall_counts_under_the_groups_of_its_line_and_other_hits_as_they_are() -> None:
    lines = [
        {**line("a", amr={"recall": {"r@1": True}, "hits": {"accuracy": True}}), "groups": ["hard"]},
        {**line("b", amr={"recall": {"r@1": False}, "hits": {"accuracy": False}}), "groups": []},
    ]
    figures = figures_of(lines)["amr"]
    assert {name: (figure.value, figure.n) for name, figure in figures.items()} == {
        "r@1": (0.5, 2),
        "r@1.hard": (1.0, 1),
        "accuracy": (0.5, 2),
    }


def test_what_failed_has_its_own_column_and_is_in_no_accuracy() -> None:
    lines = [
        line("a", amr={"hits": {"accuracy": True}, "failed": None}),
        line("b", amr={"hits": {}, "failed": "The model did not answer."}),
    ]
    figures = figures_of(lines)["amr"]
    assert (figures["accuracy"].value, figures["accuracy"].n) == (1.0, 1)
    assert (figures["failed"].value, figures["failed"].n) == (1, 2)


# --- the folder ---------------------------------------------------------------------------------------------


def test_a_line_is_on_disk_when_it_is_added_and_the_end_that_a_kill_tore_is_dropped(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, "test")
    folder.start(CONFIG)
    folder.add(line("a", amr={}))
    file = tmp_path / "questions.jsonl"
    assert json.loads(file.read_text())["id"] == "a"
    with file.open("a") as torn:
        torn.write('{"id": "b", "sys')
    assert [one["id"] for one in read_lines(tmp_path)] == ["a"]
    del folder
    again = RunFolder(tmp_path, "test", resume=True)
    again.start(CONFIG)
    again.add(line("b", amr={}))
    assert [one["id"] for one in read_lines(tmp_path)] == ["a", "b"]


def test_of_a_question_the_last_line_counts_and_all_are_kept(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, "test")
    folder.start(CONFIG)
    for name, failed in (("b", None), ("a", "no"), ("a", None)):
        folder.add(line(name, amr={"failed": failed}))
    assert [(one["id"], one["systems"]["amr"]["failed"]) for one in folder.settle(["a", "b"])] == [
        ("a", None),
        ("b", None),
    ]
    assert [json.loads(text)["id"] for text in (tmp_path / "questions.jsonl").read_text().splitlines()] == list("aab")


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    (tmp_path / "questions.jsonl").write_text('{"id": "a"}\n{"id": \n{"id": "c"}\n')
    with pytest.raises(BadInput, match="line 2"):
        read_lines(tmp_path)


def test_a_run_is_continued_only_with_what_it_was_made_with(tmp_path: Path) -> None:
    RunFolder(tmp_path, "test").start(CONFIG)
    with pytest.raises(UsageError, match=r"settings\.embedder = 'embedded', not 'other'"):
        RunFolder(tmp_path, "test", resume=True).start({**CONFIG, "settings": {"embedder": "other", "jobs": 4}})
    with pytest.raises(UsageError, match="data_sha256"):
        RunFolder(tmp_path, "test", resume=True).start({**CONFIG, "data_sha256": "b"})


def test_files_may_have_moved_and_more_may_be_asked_at_once() -> None:
    moved = {**CONFIG, "data": "elsewhere", "settings": {"embedder": "embedded", "jobs": 16}}
    assert differing({**CONFIG, "data": "here"}, moved) == {}


def test_nothing_is_continued_where_there_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run to continue"):
        RunFolder(tmp_path / "none", "test", resume=True)


def test_a_run_that_was_killed_before_it_had_its_settings_begins(tmp_path: Path) -> None:
    RunFolder(tmp_path, "test")
    folder = RunFolder(tmp_path, "test", resume=True)
    folder.start(CONFIG)
    assert folder.lines == {}


def test_two_commands_do_not_write_one_folder(tmp_path: Path) -> None:
    first = RunFolder(tmp_path, "test")
    with pytest.raises(UsageError, match="Another amr eval"):
        RunFolder(tmp_path, "test")
    del first
    RunFolder(tmp_path, "test")


# --- asking -------------------------------------------------------------------------------------------------


class Oracle:
    """A system that answers "yes", and fails for the questions in `broken`."""

    def __init__(self, *broken: str) -> None:
        self.broken = broken
        self.asked: list[str] = []

    def __call__(self, asked: Asked) -> Reply:
        self.asked.append(asked.question)
        if asked.question in self.broken:
            raise ProviderError("The model is away; try again.")
        return {"answer": "yes", "found": True}


def ask(folder: Path, system: Oracle, **options: Any) -> Run:
    """Asks a, b and c of a system, in a run of its own or one that is continued."""
    resume = bool(options.get("resume") or options.get("only_failed"))
    run = Run("test", Options(out=folder, **options), load_settings(), RunFolder(folder, "test", resume))
    run.config()

    def score(known: Mapping[str, Any], reply: Reply, hits: Hits) -> dict[str, Any]:
        hits.add("accuracy", reply["answer"] == "yes")
        return {}

    run.ask_all([({"id": name}, Asked(name)) for name in "abc"], {"amr": system}, score)
    return run


def test_a_question_that_fails_is_told_so_and_the_rest_is_asked(tmp_path: Path) -> None:
    report = ask(tmp_path, Oracle("b")).report(tmp_path)
    figures = report.systems["amr"]
    assert (figures["accuracy"].value, figures["accuracy"].n) == (1.0, 2)
    assert (figures["failed"].value, figures["failed"].n) == (1, 3)
    assert "1 questions failed" in report_text(report)
    assert report_json(report)["systems"]["amr"]["failed"] == 1


def test_what_failed_can_be_asked_again_alone(tmp_path: Path) -> None:
    ask(tmp_path, Oracle("b"))
    again = Oracle()
    report = ask(tmp_path, again, only_failed=True).report(tmp_path)
    assert again.asked == ["b"]
    assert (report.n, report.systems["amr"]["accuracy"].n) == (3, 3)
    assert "failed" not in report.systems["amr"]


def test_a_run_that_is_continued_asks_what_has_no_line(tmp_path: Path) -> None:
    ask(tmp_path, Oracle("b"))
    lines = (tmp_path / "questions.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "questions.jsonl").write_text(lines[0] + lines[1] + lines[2][:20])
    again = Oracle()
    report = ask(tmp_path, again, resume=True).report(tmp_path)
    assert again.asked == ["c"]
    assert report.systems["amr"]["failed"].value == 1


def test_what_was_never_asked_is_told(tmp_path: Path) -> None:
    ask(tmp_path, Oracle("b"))
    lines = (tmp_path / "questions.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "questions.jsonl").write_text("".join(lines[:2]))
    report = ask(tmp_path, Oracle(), only_failed=True).report(tmp_path)
    assert "1 questions have not been asked; --resume asks them." in report.notes


def test_the_settings_hold_everything_but_the_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMR_EMBEDDER_API_KEY", "sk-very-secret")
    ask(tmp_path, Oracle())
    text = (tmp_path / "config.json").read_text()
    config = json.loads(text)
    assert "sk-very-secret" not in text
    assert config["settings"]["retrieve"]["anchors"] > 0
    assert {"version", "commit", "embedder", "machine", "configs"} <= set(config)
    assert "retrieve.toml" in config["configs"]
