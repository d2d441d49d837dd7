"""Retrieval metrics, worked out by hand."""

from __future__ import annotations

import math

import pytest

from amr.evals.recall import ndcg, recall_hits

RETRIEVED = ["a", "x", "b", "y", "z", "c"]


def test_any_all_and_fraction_at_each_cut() -> None:
    hits = recall_hits("turn", RETRIEVED, ("a", "b", "c", "d"), cuts=(1, 3, 10))
    assert {name: hits[f"turn_recall@{name}"] for name in ("1.any", "1.all", "1.fraction")} == {
        "1.any": True,
        "1.all": False,
        "1.fraction": 0.25,
    }
    assert (hits["turn_recall@3.fraction"], hits["turn_recall@10.fraction"]) == (0.5, 0.75)
    assert hits["turn_recall@10.all"] is False
    assert recall_hits("turn", RETRIEVED, ("a", "b"), cuts=(3,))["turn_recall@3.all"] is True


def test_right_or_wrong_is_told_as_such_and_fractions_as_fractions() -> None:
    hits = recall_hits("session", ["a"], ("a",), cuts=(1,))
    assert [type(hits[f"session_recall@1.{name}"]) for name in ("any", "all", "fraction")] == [bool, bool, float]
    assert isinstance(hits["session_ndcg@10"], float)


def test_ndcg_discounts_by_the_logarithm_of_rank_plus_one() -> None:
    gain, ideal = 1 + 1 / math.log2(4), 1 + 1 / math.log2(3)
    assert ndcg(RETRIEVED, ("a", "b"), 10) == pytest.approx(gain / ideal)
    assert ndcg(["b", "a"], ("a", "b"), 10) == pytest.approx(1.0)
    assert ndcg(["x"], ("a",), 10) == 0.0


def test_the_ideal_has_no_more_than_the_cut_holds() -> None:
    assert ndcg(["a", "b"], ("a", "b", "c", "d"), 2) == pytest.approx(1.0)


def test_what_is_retrieved_twice_counts_once_and_takes_both_places() -> None:
    hits = recall_hits("turn", ["a", "a", "b"], ("a", "b"), cuts=(2, 3))
    assert (hits["turn_recall@2.fraction"], hits["turn_recall@3.fraction"]) == (0.5, 1.0)
    assert ndcg(["a", "a"], ("a",), 10) == pytest.approx(1.0)
