"""`amr eval compare`: paired tests against values worked out by hand, and two runs side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from amr.evals.compare import compare, comparison_json, comparison_text
from amr.evals.paired import mcnemar, paired, permutation
from tests.support.command import amr, assert_one_sentence

# --- tests of significance -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gained", "lost", "p"), [(0, 0, 1.0), (5, 5, 1.0), (5, 0, 2 / 32), (1, 6, 2 * 8 / 128), (10, 2, 2 * 79 / 4096)]
)
def test_mcnemar_is_a_fair_coin_for_each_question_that_flipped(gained: int, lost: int, p: float) -> None:
    assert mcnemar(gained, lost) == pytest.approx(p)
    assert mcnemar(lost, gained) == pytest.approx(p)


def test_few_differences_are_permuted_exactly() -> None:
    assert permutation(np.array([])) == 1.0
    assert permutation(np.array([0.5, 0.5, 0.5])) == pytest.approx(2 / 8)
    assert permutation(np.array([1.0, -1.0])) == 1.0


def test_many_differences_are_drawn_always_the_same_way() -> None:
    differences = np.array([0.5] * 30 + [-0.5] * 20)
    exact = 2 * sum(math.comb(50, i) for i in range(21)) / 2**50
    assert permutation(differences) == permutation(differences.copy())
    assert permutation(differences) == pytest.approx(exact, abs=0.02)
    assert permutation(np.array([0.5] * 60)) == pytest.approx(1 / 10_001)


def test_what_is_right_or_wrong_is_tested_by_mcnemar_and_fractions_by_permutation() -> None:
    right = paired([True, False, False, True], [True, True, True, False])
    assert (right.test, right.gained, right.lost, right.n) == ("mcnemar", 2, 1, 4)
    assert (right.a, right.b, right.difference) == (0.5, 0.75, 0.25)
    parts = paired([0.5, 1.0], [1.0, 1.0])
    assert (parts.test, parts.gained, parts.lost, parts.difference) == ("permutation", 1, 0, 0.25)


def test_the_interval_of_the_difference_is_that_of_a_paired_mean() -> None:
    a, b = [False] * 50 + [True] * 50, [False] * 40 + [True] * 60
    differences = np.array(b, float) - np.array(a, float)
    half = 1.959964 * differences.std(ddof=1) / 10
    result = paired(a, b)
    assert (result.low, result.high) == (pytest.approx(0.1 - half), pytest.approx(0.1 + half))


def test_where_nothing_differs_the_interval_keeps_a_margin() -> None:
    result = paired([0.5] * 20, [0.5] * 20)
    assert result.p == 1.0
    assert result.low < 0 < result.high


# --- two runs -----------------------------------------------------------------------------------------------


def entry(right: bool, refs: Sequence[str] = (), answer: str = "") -> dict[str, Any]:
    return {
        "retrieved": {"turn": list(refs)},
        "seconds": {"turn": 0.1},
        "recall": {"turn_recall@10.any": right},
        "hits": {"f1": 0.5 + 0.5 * right},
        "answer": answer,
    }


def write_run(folder: Path, lines: Sequence[Mapping[str, Any]], **config: Any) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"benchmark": "locomo", "data": str(folder), **config}))
    (folder / "questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def line(name: str, mine: Mapping[str, Any], plain: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    told = {"id": name, "question": f"{name}?", "as_of": None, "gold": {"turn": ["D1:1"]}, "groups": ["temporal"]}
    return {**told, **more, "systems": {"amr": mine, "bm25": plain}}


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    """Two runs of six questions; B has two more right and one less, and five questions are the same in both."""
    plain = entry(True)
    before = [line(name, entry(right, ["D1:1"], "before"), plain) for name, right in zip("abcdef", SIX, strict=True)]
    after = [line(name, entry(right, ["D1:2"], "after"), plain) for name, right in zip("abcde", FIVE, strict=True)]
    after += [line("f", entry(True), plain, gold={"turn": ["D9:9"]}), line("g", entry(True), plain)]
    settings = {"embedder": "embedded", "jobs": 4}
    return (
        write_run(tmp_path / "a", before, data_sha256="1", settings=settings),
        write_run(tmp_path / "b", after, data_sha256="2", settings={"embedder": "hf:x/y", "jobs": 8}),
    )


SIX = [True, False, False, True, True, False]
FIVE = [True, True, True, False, True]


def test_metrics_stand_side_by_side_over_the_questions_of_both(runs: tuple[Path, Path]) -> None:
    told = comparison_json(compare(*runs))
    metric = told["systems"]["amr"]["turn_recall@10.any"]
    assert (metric["a"], metric["b"], metric["n"], metric["gained"], metric["lost"]) == (0.6, 0.8, 5, 2, 1)
    assert (metric["p"], metric["test"]) == (1.0, "mcnemar")
    assert told["systems"]["amr"]["turn_recall@10.any.temporal"] == metric
    assert told["systems"]["amr"]["f1"]["test"] == "permutation"
    assert told["systems"]["bm25"]["turn_recall@10.any"]["difference"] == 0
    assert told["untested"]["amr"]["latency_ms.p50.turn"] == [100.0, 100.0]


def test_the_questions_that_flipped_are_told_with_what_each_found_and_answered(runs: tuple[Path, Path]) -> None:
    flipped = {one["id"]: one for one in comparison_json(compare(*runs))["flipped"]}
    assert list(flipped) == ["b", "c", "d"]
    assert flipped["d"]["metrics"]["turn_recall@10.any"] == [True, False]
    assert flipped["d"]["a"] == {"retrieved": {"turn": ["D1:1"]}, "answer": "before"}
    assert flipped["d"]["b"] == {"retrieved": {"turn": ["D1:2"]}, "answer": "after"}


def test_what_differs_between_the_runs_is_told(runs: tuple[Path, Path]) -> None:
    comparison = compare(*runs)
    assert comparison.differs == {"data_sha256": ["1", "2"], "settings.embedder": ["embedded", "hf:x/y"]}
    notes = "\n".join(comparison.notes)
    for told in ("the 5 questions", "different data", "1 questions are in B only", "1 questions have the same id"):
        assert told in notes
    text = comparison_text(comparison)
    assert "settings.embedder: A embedded, B hf:x/y" in text
    assert "Questions that flipped: 3." in text
    assert "turn_recall@10.any 1 → 0" in text


def test_what_failed_is_in_no_comparison_of_answers(tmp_path: Path) -> None:
    failed = {"retrieved": {}, "recall": {"turn_recall@10.any": True}, "failed": "The model was away."}
    a = write_run(tmp_path / "a", [line(name, entry(True), entry(True)) for name in "ab"])
    b = write_run(tmp_path / "b", [line("a", entry(True), entry(True)), line("b", failed, entry(True))])
    comparison = compare(a, b)
    assert (comparison.systems["amr"]["f1"].n, comparison.systems["amr"]["turn_recall@10.any"].n) == (1, 2)
    assert any("1 questions failed in B" in note for note in comparison.notes)


def test_the_command_prints_a_table_or_one_object(runs: tuple[Path, Path]) -> None:
    shown = amr("eval", "compare", *runs)
    assert (shown.code, shown.err) == (0, "")
    assert "turn_recall@10.any" in shown.out
    assert amr("eval", "compare", *runs, "--json").json["n"] == 5


def test_runs_without_a_question_in_common_are_told_so_with_exit_1(runs: tuple[Path, Path], tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", [line("z", entry(True), entry(True))])
    done = amr("eval", "compare", runs[0], other)
    assert done.code == 1
    assert "the 0 questions" in done.out


def test_what_cannot_be_compared_is_one_sentence(runs: tuple[Path, Path], tmp_path: Path) -> None:
    epic = write_run(tmp_path / "epic", [])
    (epic / "config.json").write_text('{"benchmark": "epic"}')
    for arguments, code, told in (
        ((runs[0], epic), 2, "epic"),
        ((runs[0], tmp_path / "none"), 3, "no run of amr eval"),
        ((runs[0],), 2, "amr eval compare A B"),
    ):
        done = amr("eval", "compare", *arguments)
        assert done.code == code
        assert_one_sentence(done.err, told)
