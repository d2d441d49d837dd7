"""The object questions: one pooled stream, and letters chosen by words alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amr.errors import BadInput
from amr.evals.object_letters import choose, events_lines, pooled
from amr.media.events import read_events

CHOICES = {"A": "on table near pots.", "B": "bottom of right sink.", "C": "It changes."}


def snapshot(clip: str, thing: str, location: str, **more: Any) -> dict[str, Any]:
    seen = {"object_name": thing, "status": ["wet"], "location": location, "interaction": "rinsed.", **more}
    return {"clip_id": clip, "object_snapshot": seen, "dense_caption_context": ["A bowl is rinsed."]}


def entry(*snapshots: dict[str, Any]) -> dict[str, Any]:
    return {"sample_id": "one", "evidence_times": list(snapshots)}


FIRST = snapshot("DAY1_A3_TASHA_11253000", "bowl", "on table")
LATER = snapshot("DAY2_A3_TASHA_21140000", "bowl", "bottom of right sink")
OTHER = snapshot("DAY1_A3_TASHA_11253000", "plate", "in a rack")
PATH = Path("questions.json")


def says(answer: str, *texts: str, found: bool = True) -> dict[str, Any]:
    return {"answer": answer, "found": found, "evidence": [{"text": text} for text in texts]}


def test_a_clip_and_an_object_are_in_the_stream_once_in_time_order() -> None:
    seen = pooled([entry(LATER, FIRST), entry(FIRST, OTHER)], PATH)
    assert [(one.clip[:4], one.object) for one in seen] == [("DAY1", "bowl"), ("DAY1", "plate"), ("DAY2", "bowl")]


def test_the_stream_is_an_events_file_with_location_state_and_handling(tmp_path: Path) -> None:
    file = tmp_path / "objects.jsonl"
    file.write_text(events_lines(pooled([entry(FIRST, LATER, OTHER)], PATH)), encoding="utf-8")
    source = read_events(file)[0]
    assert [(line.start_ms, line.end_ms) for line in source.lines] == [(0, 30_000), (121_710_000, 121_740_000)]
    event = json.loads(file.read_text(encoding="utf-8").splitlines()[0])["analysis"]["events"][0]
    assert event["summary"] == "The bowl (wet): on table. rinsed."
    assert event["objects"] == [{"name": "bowl", "spatial_description": "on table"}]


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        (says("", "The bowl: bottom of right sink. rinsed.", "on table near pots"), "B"),
        (says("", "The bowl was rinsed.", "The bowl: on table near pots."), "A"),
        (says("It changes: first here, then there."), "C"),
        (says("It has changed", "near the table"), "C"),
        (says("on table near pots", found=False), None),
        (says("nothing alike"), None),
    ],
)
def test_the_first_text_that_tells_all_of_a_choice_decides(reply: dict[str, Any], letter: str | None) -> None:
    assert choose(CHOICES, reply) == letter


def test_a_snapshot_without_a_location_is_named() -> None:
    broken = snapshot("DAY1_A3_TASHA_11253000", "bowl", "x")
    del broken["object_snapshot"]["location"]
    with pytest.raises(BadInput, match=r"questions\.json, one has no 'location'"):
        pooled([entry(broken)], PATH)


def test_a_clip_without_a_clock_is_named() -> None:
    with pytest.raises(BadInput, match="'holiday' is no name of an EgoLife clip"):
        pooled([entry(snapshot("holiday", "bowl", "x"))], PATH)
