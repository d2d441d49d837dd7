"""`amr objects`, `amr people` and `amr timeline`: everything and everybody, as a user names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.command import amr, ran
from tests.support.videos import srt

DAY = (
    (1, 2, "I put my Power bank on the shelf."),
    (12, 13, "I'm holding the power bank."),
    (31, 32, "Ann put the cup on the table."),
    (45, 46, "Ann: Where is your power bank?"),
    (61, 62, "I put the power bank in the drawer."),
)


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("day")
    (folder / "day.srt").write_text(srt(*DAY))
    ran("ingest", folder / "day.srt", "--captions-kind", "narration", "--memory", folder / "memory")
    return folder / "memory"


def by(name: str, rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row[name]: row for row in rows}


def test_objects_come_with_their_last_place_or_holder_and_when_they_were_seen(day: Path) -> None:
    found = by("object", ran("objects", "--json", "--memory", day).json["objects"])
    bank = found["power_bank"]
    assert (bank["state"], bank["place"], bank["holder"]) == ("located", "in the drawer", None)
    assert (bank["first"]["t_start"], bank["last"]["t_start"], bank["since"]["t_start"]) == (1.0, 61.0, 61.0)
    assert bank["count"] >= 3
    assert found["cup"]["place"] == "on the table"
    assert "power bank" not in found


def test_objects_as_of_a_time_are_where_they_were_then(day: Path) -> None:
    found = by(
        "object", ran("objects", "--as-of", "0:00:20", "--source", "day.srt", "--json", "--memory", day).json["objects"]
    )
    assert (found["power_bank"]["state"], found["power_bank"]["holder"]) == ("held", "wearer")
    assert "cup" not in found


def test_people_come_with_when_they_were_first_and_last_there(day: Path) -> None:
    found = by("person", ran("people", "--json", "--memory", day).json["people"])
    assert (found["ann"]["count"], found["ann"]["first"]["t_start"], found["ann"]["last"]["t_start"]) == (2, 31.0, 45.0)
    assert found["wearer"]["count"] >= 3


def test_a_timeline_of_a_person_and_an_object_is_of_events_with_both_however_they_are_named(day: Path) -> None:
    whole = ran("timeline", "--object", "power bank", "--json", "--memory", day).json["events"]
    both = ran("timeline", "--person", "I", "--object", "Power bank", "--json", "--memory", day).json["events"]
    assert [event["t_start"] for event in both] == [1.0, 12.0, 61.0]
    assert len(both) < len(whole)


@pytest.mark.parametrize("command", [("objects",), ("people",), ("timeline", "--object", "unicorn")])
def test_nothing_found_is_exit_1_with_the_documented_object(command: tuple[str, ...], day: Path) -> None:
    done = amr(*command, "--to", "0:00:00", "--source", "day.srt", "--json", "--memory", day)
    assert done.code == 1
    assert list(done.json.values()) == [[]]
