"""Groups of evidence: by time or by way, each with its relevance, and what is dropped with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from amr.config import VerifySettings, load_settings
from amr.memory import Memory
from amr.records import Node, Step
from amr.retrieve.relevance import Candidate
from amr.retrieve.verify import Group, grouped, verify
from tests.retrieve.lives import live, settings

SETTINGS = VerifySettings(group="time", gap_seconds=30.0, groups=10, least=0.1)


def candidate(
    node_id: int, seconds: float, relevance: float = 0.5, source: int = 0, entry: int | None = None
) -> Candidate:
    at = round(seconds * 1000)
    node = Node(node_id, "event", "default", source, 0, None, 0, 0, at, at, None, f"event {node_id}", {}, str(node_id))
    path = [] if entry is None else [Step("temporal", entry, node_id)]
    return Candidate(node, [], relevance=relevance, path=path)


def ids(groups: list[Group]) -> list[list[int]]:
    return [[one.node.node_id for one in group.candidates] for group in groups]


def test_what_happened_together_is_a_group_in_order_of_time_the_best_first() -> None:
    found = [candidate(5, 500), candidate(2, 20), candidate(1, 0), candidate(3, 49), candidate(4, 90)]
    assert ids(grouped(found, "time", 30_000)) == [[5], [1, 2, 3], [4]]


def test_what_happened_at_one_time_in_two_sources_is_not_together() -> None:
    assert ids(grouped([candidate(1, 0), candidate(2, 1, source=1)], "time", 30_000)) == [[1], [2]]


def test_what_one_anchor_led_to_is_a_group_by_path() -> None:
    found = [candidate(1, 0), candidate(7, 500), candidate(2, 900, entry=1), candidate(8, 10, entry=7)]
    assert ids(grouped(found, "path", 30_000)) == [[1, 2], [8, 7]]


def test_a_group_bears_on_the_question_as_far_as_its_best_and_the_rest_is_dropped_with_a_reason() -> None:
    found = [candidate(1, 0, 0.8), candidate(2, 5, 0.02), candidate(3, 200, 0.05)]
    kept, dropped = verify(found, SETTINGS)
    assert (kept.relevance, kept.dropped) == (0.8, "")
    assert (dropped.relevance, dropped.dropped) == (0.05, "relevance below 0.1 of the best")


def test_the_best_there_is_is_never_dropped() -> None:
    assert [group.dropped for group in verify([candidate(1, 0, 0.001)], SETTINGS)] == [""]
    assert verify([], SETTINGS) == []


def test_no_more_groups_than_asked_for_are_kept() -> None:
    groups = verify([candidate(n, 100 * n) for n in range(4)], SETTINGS.model_copy(update={"groups": 3}))
    assert [group.dropped for group in groups] == ["", "", "", "only 3 groups are kept"]


def test_another_scorer_may_judge_the_groups() -> None:
    groups = verify([candidate(1, 0, 0.9), candidate(2, 100, 0.1)], SETTINGS, lambda groups: [0.0, 1.0])
    assert [bool(group.dropped) for group in groups] == [True, False]


@pytest.mark.parametrize("group", ["time", "path"])
def test_either_way_of_grouping_finds_the_same_answer(morning: Memory, group: str) -> None:
    chosen = load_settings(verify={"group": group})
    answer = morning.query("when did I open the fridge", chosen)
    assert answer.found
    assert answer.evidence[0].node.text == "I open the fridge."


def test_ten_places_are_not_filled_with_one_sentence(tmp_path: Path) -> None:
    cues = [(60 * n, "I look at my phone.") for n in range(40)] + [(2700, "I charge my phone at the bench.")]
    found = live(tmp_path, cues).query("where is my phone", settings()).evidence
    assert "I charge my phone at the bench." in [evidence.node.text for evidence in found]
