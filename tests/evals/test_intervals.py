"""Wilson's interval, against values worked out by hand and published tables."""

from __future__ import annotations

import pytest

from amr.evals.intervals import wilson
from amr.evals.tally import Tally


def test_the_interval_of_8_in_10() -> None:
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)


def test_none_and_all_of_a_few_leave_room() -> None:
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)


def test_nothing_asked_tells_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


def test_a_tally_counts_a_measure_and_its_variants() -> None:
    tally = Tally()
    tally.add("accuracy", True, ["day1-4"])
    tally.add("accuracy", False, ["day5-7"])
    tally.seconds[""] = [0.010, 0.020, 0.030]
    figures = tally.figures()
    assert {name: (figure.value, figure.n) for name, figure in figures.items()} == {
        "accuracy": (0.5, 2),
        "accuracy.day1-4": (1.0, 1),
        "accuracy.day5-7": (0.0, 1),
        "latency_ms.p50": (20.0, 3),
        "latency_ms.p95": (30.0, 3),
    }
