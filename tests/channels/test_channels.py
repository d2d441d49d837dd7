"""Each channel's edges, by example: who came back, what became of a thing, who was heard before being seen."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from amr.channels.view import View as Chains
from amr.store import database
from amr.store.rows import PassRow, View
from amr.store.snapshot import Snapshot
from amr.store.writer import writing
from amr.write.commit import finish_pass
from tests.channels.lives import Moment, Reel, linked, remember, root, shown
from tests.support.memories import EMBEDDER, Film

NO_CLOCK = {"film": None}


def film(directory: Path, *clips: tuple[int, tuple[Moment, ...]]) -> Path:
    return remember(directory, [Reel("film", *clip) for clip in clips], NO_CLOCK)


def told(directory: Path, channel: str) -> list[tuple[int, int, dict[str, Any]]]:
    """The edges of a channel as (start of the earlier, start of the later, payload), in seconds."""
    return [
        ((earlier.t_start_ms or 0) // 1000, (later.t_start_ms or 0) // 1000, payload)
        for earlier, later, payload in linked(directory, channel)
    ]


def test_a_person_who_was_away_for_more_than_a_minute_is_linked_to_when_they_were_last_there(tmp_path: Path) -> None:
    both, ann = ("ann", "bob"), ("ann",)
    memory = film(tmp_path, (0, (Moment(0, 2, both),)), (1, (Moment(0, 1, ann),)), (9, (Moment(0, 1, both),)))
    assert told(memory, "entity_jump") == [
        (0, 90, {"gap_ms": 88_000, "persons": ["bob"]}),
        (10, 90, {"gap_ms": 79_000, "persons": ["ann"]}),
    ]


def test_persons_last_seen_together_share_an_edge_and_a_gap_of_a_minute_is_none(tmp_path: Path) -> None:
    both = ("ann", "bob")
    memory = film(tmp_path, (0, (Moment(0, 5, both),)), (6, (Moment(5, 6, ("ann",)), Moment(6, 7, both))))
    assert told(memory, "entity_jump") == [(0, 66, {"gap_ms": 61_000, "persons": ["bob"]})]
    later = film(tmp_path / "later", (0, (Moment(0, 5, both),)), (7, (Moment(0, 1, both),)))
    assert told(later, "entity_jump") == [(0, 70, {"gap_ms": 65_000, "persons": ["ann", "bob"]})]


def test_a_change_of_a_thing_is_linked_to_the_last_event_with_it_and_names_the_change_before(tmp_path: Path) -> None:
    me = ("wearer",)
    held, put = (
        Moment(0, 1, me, verb="hold", thing="cup"),
        Moment(2, 3, me, verb="put", thing="cup", place="on the shelf"),
    )
    memory = film(
        tmp_path,
        (0, (held,)),
        (1, (Moment(0, 1, me, verb="look at", thing="cup"),)),
        (2, (put,)),
    )
    ((first, last, payload),) = told(memory, "object_lifecycle")
    assert (first, last) == (10, 22)
    previous = payload.pop("previous")
    assert payload == {"object": "cup", "verb": "put", "state": "located", "place": "on the shelf", "holder": ""}
    with database.reading(memory) as snapshot:
        (first_change,) = [node for node in snapshot.nodes(snapshot.visible(View())).values() if node.t_start_ms == 0]
    assert previous == first_change.hash


def test_whoever_is_heard_and_then_seen_is_linked_once(tmp_path: Path) -> None:
    ann = ("ann", "wearer")
    memory = film(
        tmp_path,
        (0, (Moment(0, 1, ann, "heard"), Moment(2, 3, ann, "heard"), Moment(4, 5, ann, "seen"))),
        (1, (Moment(0, 1, ann, "told"), Moment(2, 3, ("voice_1",), "heard"))),
        (2, (Moment(0, 1, ("ann", "voice_1"), "seen"),)),
    )
    assert told(memory, "cross_modal") == [
        (2, 4, {"gap_ms": 1000, "how": "name", "persons": ["ann"]}),
        (12, 20, {"gap_ms": 7000, "how": "co-occurrence", "persons": ["voice_1"]}),
    ]


def test_an_appearance_of_the_other_kind_long_ago_is_not_linked(tmp_path: Path) -> None:
    memory = film(tmp_path, (0, (Moment(0, 1, ("ann",), "heard"),)), (61, (Moment(0, 1, ("ann",), "seen"),)))
    assert told(memory, "cross_modal") == []


def test_films_with_a_wall_clock_share_their_persons_and_things_and_others_do_not(tmp_path: Path) -> None:
    morning, evening = Moment(0, 1, ("ann",)), Moment(5, 6, ("ann",))
    life = [Reel("one", 0, (morning,)), Reel("two", 0, (evening,))]
    shared = remember(tmp_path / "shared", life, {"one": 0, "two": 3600})
    assert [payload["persons"] for _, _, payload in told(shared, "entity_jump")] == [["ann"]]
    apart = remember(tmp_path / "apart", life, {"one": 0, "two": None})
    assert told(apart, "entity_jump") == []


def test_a_day_that_comes_after_a_later_one_gives_the_memory_of_both_in_order(tmp_path: Path) -> None:
    first = [Reel("one", clip, (Moment(clip, clip + 1, ("ann", "bob")[clip % 2 :], thing="cup"),)) for clip in range(4)]
    second = [Reel("two", clip, (Moment(3, 4, ("ann",), "seen", "put", "cup", "in the sink"),)) for clip in range(3)]
    clocks = {"one": 0, "two": 7200}
    in_order = remember(tmp_path / "in order", [*first, *second], clocks)
    reverse = remember(tmp_path / "reverse", [*second, *first], clocks)
    assert root(in_order) == root(reverse)
    assert len(told(reverse, "temporal")) == 5


def test_a_pass_that_replaces_another_is_linked_with_the_other_films_as_if_it_had_been_alone(tmp_path: Path) -> None:
    def day(directory: Path, again: bool) -> Path:
        with writing(directory, "test", EMBEDDER) as writer:
            Film(writer, key="before", wall_ms=0).clip(
                0, Moment(0, 1, ("ann", "bob"), verb="hold", thing="cup").report()
            )
            middle = Film(writer, key="middle", wall_ms=3_600_000)
            if again:
                middle.clip(0, Moment(0, 1, ("ann",), "seen", "put", "cup", "on the table").report())
            Film(writer, key="after", wall_ms=7_200_000).clip(
                0, Moment(0, 1, ("ann", "bob"), "seen", "put", "cup", "in the sink").report()
            )
            anew = Moment(0, 1, ("bob",), "seen", "open", "cup").report()
            if not again:
                middle.clip(0, anew)
                return directory
            old = middle.current
            new = PassRow(writer.new_id("passes"), middle.source.source_id, "test", "new", 0, "staged")
            middle.perceive_anew(new)
            middle.clip(0, anew)
            finish_pass(writer, middle.source, new, [old])
        return directory

    replaced, alone = day(tmp_path / "replaced", True), day(tmp_path / "alone", False)
    assert shown(replaced, View()) == shown(alone, View())
    assert root(replaced) == root(alone)


def test_an_event_that_comes_last_among_known_persons_and_things_needs_no_look_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = 0

    def counted(directory: Path) -> AbstractContextManager[Snapshot]:
        nonlocal opened
        opened += 1
        return database.reading(directory)

    moment = Moment(0, 1, ("ann", "wearer"), "told", "put", "cup", "on the table")
    with writing(tmp_path, "test", EMBEDDER) as writer:
        Film(writer, key="earlier", wall_ms=0).clip(0, moment.report())
        later = Film(writer, key="later", wall_ms=3_600_000)
        later.clip(0, moment.report())
        monkeypatch.setattr(Chains, "reading", lambda view: counted(view._directory))
        for clip in range(1, 6):
            later.clip(clip, moment.report())
        assert opened == 0
        later.clip(6, Moment(0, 1, ("bob",), thing="key", verb="hold").report())
        assert opened == 1
