"""What every channel keeps to, whatever happens: time order, as-of, any order of arrival, scopes apart."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amr import channels
from amr.channels import versions
from amr.config import load_settings
from amr.memory import Memory
from amr.records import ClipAnalysis
from amr.store.rows import View
from tests.channels.lives import CLIPS, Moment, Reel, known_by, linked, reels, remember, root, shown, start
from tests.support.memories import events_jsonl, said

few = settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@given(reels(), st.integers(0, 320))
@few
def test_as_of_a_time_shows_what_a_memory_ingested_only_up_to_it_shows(life: list[Reel], second: int) -> None:
    with folder() as here:
        whole = remember(here / "whole", life)
        part = remember(here / "part", known_by(life, second))
        assert shown(whole, View(as_of=second * 1000)) == shown(part, View())


@given(reels(), st.randoms(use_true_random=False))
@few
def test_any_order_of_arrival_gives_the_same_root(life: list[Reel], chance: object) -> None:
    mixed = [*life]
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    with folder() as here:
        assert root(remember(here / "in order", life)) == root(remember(here / "mixed", mixed))


@given(reels(), st.randoms(use_true_random=False), st.integers(0, 320))
@few
def test_late_clips_are_seen_at_every_as_of_as_if_they_had_come_in_time(
    life: list[Reel], chance: object, second: int
) -> None:
    mixed = [*life]
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    view = View(as_of=second * 1000)
    with folder() as here:
        in_order, out_of_order = remember(here / "in order", life), remember(here / "mixed", mixed)
        assert shown(in_order, view) == shown(out_of_order, view)


@given(reels())
@few
def test_every_edge_leads_from_an_earlier_event_to_a_later_one_of_the_same_clock(life: list[Reel]) -> None:
    with folder() as here:
        memory = remember(here, life)
        for channel in channels.CHANNELS:
            for earlier, later, payload in linked(memory, channel.NAME):
                assert start(earlier) <= start(later)
                assert earlier.learnt_at >= 0
                assert int(str(payload.get("gap_ms", 0))) >= 0
                if earlier.time_ms is None or later.time_ms is None:
                    assert earlier.source_id == later.source_id


@given(reels(CLIPS[:2]))
@few
def test_two_scopes_never_see_each_other(life: list[Reel]) -> None:
    with folder() as here:
        alone = shown(remember(here / "alone", life), View())
        both = remember(here / "both", life)
        remember(both, life, scope="other")
        assert shown(both, View()) == alone
        other = shown(both, View(scope="other"))
        assert len(other.edges) == len(alone.edges)
        assert not {edge[1] for edge in other.edges} & {edge[1] for edge in alone.edges}


DAY = [
    Reel("head", 0, (Moment(0, 1, ("ann",), "heard"), Moment(1, 2, ("ann",), "told", "hold", "cup"))),
    Reel("head", 30, (Moment(0, 1, ("ann",), "told", "put", "cup", "on the table"),)),
]


@pytest.mark.parametrize("name", [channel.NAME for channel in channels.CHANNELS])
def test_without_a_channel_the_others_link_as_before(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = shown(remember(tmp_path / "whole", DAY), View())
    left = tuple(channel for channel in channels.CHANNELS if name != channel.NAME)
    monkeypatch.setattr(versions, "CHANNELS", left)
    rest = shown(remember(tmp_path / "rest", DAY), View())
    assert {edge[0] for edge in whole.edges} == {channel.NAME for channel in channels.CHANNELS}
    assert rest.events == whole.events
    assert rest.edges == [edge for edge in whole.edges if edge[0] != name]


def test_a_question_without_object_lifecycle_knows_no_states(tmp_path: Path) -> None:
    memory = remember(tmp_path, DAY)
    assert len(shown(memory, View()).states) == 2
    assert not shown(memory, View(without=frozenset(["object_lifecycle"]))).states


def phrases() -> st.SearchStrategy[ClipAnalysis]:
    """An event that may be merged with others of its kind."""
    what = st.sampled_from([("I hold the cup.", "cup"), ("I turn the key.", "key")])
    return st.builds(lambda said_, start: said(said_[0], start, start + 2, said_[1]), what, st.sampled_from([0, 3, 8]))


@given(st.lists(phrases(), min_size=4, max_size=6), st.integers(1, 6))
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_as_of_before_a_merge_shows_its_parts_with_their_edges(clips: list[ClipAnalysis], known: int) -> None:
    with folder() as here:
        whole = merging(here / "whole", clips)
        part = merging(here / "part", clips[:known])
        assert shown(whole, View(as_of=known * 10_000)) == shown(part, View())


def merging(directory: Path, clips: list[ClipAnalysis]) -> Path:
    """A memory of clips whose events are merged where they are alike."""
    directory.mkdir()
    memory = Memory(directory / "memory")
    settings_ = load_settings(None, merge={"enabled": "on"})
    memory.ingest(events_jsonl(directory / "day.jsonl", list(enumerate(clips))), settings_, source="day")
    return memory.directory
