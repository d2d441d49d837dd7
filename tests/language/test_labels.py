"""The reader against what a person read in 300 real captions (labels_egolife.json); floors a little below measured."""

from __future__ import annotations

import pytest

from scripts.measure_language import load, measure, pairs_of
from tests.support.data import test_data

CAPTIONS = "egolife/A1_JAKE_sync_clips.jsonl.gz"


def test_the_labels_hold_150_captions_a_split_and_enough_handling_of_objects() -> None:
    labels = [label for label, _ in load(test_data(CAPTIONS))]
    assert sum(label["split"] == "dev" for label in labels) == 150
    assert sum(label["split"] == "held_out" for label in labels) == 150
    assert sum(any(action[2] for action in label["actions"]) for label in labels) >= 120


@pytest.mark.parametrize(("split", "precision", "recall"), [("dev", 0.97, 0.97), ("held_out", 0.95, 0.94)])
def test_actions_of_captions_are_read_as_a_person_reads_them(split: str, precision: float, recall: float) -> None:
    rows = pairs_of(test_data(CAPTIONS), split)
    scores = measure([(gold, given) for _, gold, given in rows])
    for level, (found_precision, found_recall) in scores.items():
        assert found_precision >= precision, level
        assert found_recall >= recall, level
