"""Neighbouring events that are one continuous action become one node."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amr.config import load_settings
from amr.memory import Filters, Memory
from amr.models.embedders import EmbeddedEmbedder
from amr.perceive.perception import Perceived
from amr.records import ClipAnalysis, EventReport, Node
from amr.write.events import ClipPlace, embedded_text, event_node
from amr.write.merging import Merged, Merger, Recent
from tests.support.memories import events_jsonl, said

PLACE = ClipPlace("default", 1, "key", 1, 0, 0, 0, 10_000, None)
CUP = "I hold the cup."


def node(text: str, start: float, end: float, person: str = "wearer", scene: str = "") -> Node:
    event = EventReport(local_event_id="E1", time_start=start, time_end=end, summary=text, actors=[person])
    return event_node(-1, PLACE, Perceived(ClipAnalysis(clip_summary=text, scene_type=scene)), event)


def merged(*nodes: Node, latest: list[Recent] | None = None) -> Merged:
    ids = itertools.count(10)
    settings = load_settings().merge
    merger = Merger(
        settings,
        EmbeddedEmbedder(),
        lambda parts: ("; ".join(part.summary for part in parts), Counter()),
        lambda: next(ids),
        False,
    )
    vectors = EmbeddedEmbedder().embed([embedded_text(one) for one in nodes])
    return merger.merge(PLACE, latest or [], list(nodes), vectors)


def texts(result: Merged) -> list[str]:
    return [one.text for one in result.live]


def test_two_alike_events_of_one_person_become_a_new_one_and_stay_in_the_history() -> None:
    result = merged(node(CUP, 0, 2), node(CUP, 3, 5))
    (whole,) = result.live
    assert (whole.text, whole.t_start_ms, whole.t_end_ms) == (f"{CUP}; {CUP}", 0, 5000)
    assert (whole.payload["persons"], len(whole.payload["parents"]), result.merges) == (["wearer"], 2, 1)
    assert [one.node.node_id for one in result.written] == [10, 11, 12]
    assert [one.node.retired_at for one in result.written] == [10_000, 10_000, None]


@pytest.mark.parametrize(
    "other",
    [
        node(CUP, 7.1, 9),  # more than 5 s later
        node("A dog barks outside.", 3, 5),  # not alike
        node(CUP, 3, 5, person="anna"),  # neither the person nor the scene is shared
        node(CUP, 3, 60.1),  # together over 60 s
    ],
)
def test_what_is_far_unlike_unrelated_or_too_long_stays_apart(other: Node) -> None:
    assert len(merged(node(CUP, 0, 2), other).live) == 2


def test_another_person_in_the_same_scene_may_be_merged() -> None:
    result = merged(node(CUP, 0, 2, "anna", "kitchen"), node(CUP, 2, 4, "ben", "kitchen"))
    assert [one.payload["persons"] for one in result.live] == [["anna", "ben"]]


def test_at_most_six_events_become_one() -> None:
    result = merged(*[node(CUP, 1.0 * i, 1.0 * i + 1) for i in range(7)])
    assert sorted(len(one.payload.get("parents", [1])) for one in result.live) == [1, 6]


def test_only_the_last_three_events_are_looked_at() -> None:
    others = [node(text, i + 1, i + 2) for i, text in enumerate(["A dog barks.", "It rains.", "Music plays loudly."])]
    assert len(merged(node(CUP, 0, 4), *others[:2], node(CUP, 4, 5)).live) == 3
    assert len(merged(node(CUP, 0, 4), *others, node(CUP, 4, 5)).live) == 5


@given(st.lists(st.tuples(st.sampled_from([CUP, "A dog barks."]), st.integers(0, 3)), min_size=1, max_size=8))
def test_nothing_is_lost_and_the_latest_are_those_that_stand(rows: list[tuple[str, int]]) -> None:
    nodes, at = [], 0
    for text, gap in rows:
        nodes.append(node(text, at + gap, at + gap + 1))
        at += gap + 1
    result = merged(*nodes)
    stood_for = [parent for one in result.live for parent in one.payload.get("parents", [one.hash])]
    assert sorted(stood_for) == sorted(one.hash for one in nodes)
    assert [one.node for one in result.latest] == result.live[-3:]


def memory_of(folder: Path, name: str, clips: list[tuple[int, ClipAnalysis]], merge: str = "on") -> Memory:
    memory = Memory(folder / name)
    settings = load_settings(None, merge={"enabled": merge}, clip_seconds=10)
    memory.ingest(events_jsonl(folder / "day.jsonl", clips), settings, source="day")
    return memory


def test_a_memory_shows_the_merged_event_and_before_it_was_learnt_its_parts(tmp_path: Path) -> None:
    clips = [(0, said(CUP, 6, 10)), (1, said(CUP, 0, 4)), (2, said("A dog barks.", 0, 1))]
    memory = memory_of(tmp_path, "memory", clips)
    assert [piece.node.text for piece in memory.timeline(Filters())] == [CUP, "A dog barks."]
    whole, dog = (piece.node for piece in memory.timeline(Filters()))
    assert (whole.t_start_ms, whole.t_end_ms, whole.clip_first, whole.clip_last) == (6000, 14_000, 0, 1)
    assert [(edge.src, edge.dst) for edge in memory.show(dog.node_id).edges] == [(whole.node_id, dog.node_id)]
    (part,) = memory.timeline(Filters(as_of="0:00:12", source="day"))
    assert (part.node.t_start_ms, part.node.t_end_ms) == (6000, 10_000)


def test_without_merging_each_event_is_a_node(tmp_path: Path) -> None:
    clips = [(0, said(CUP, 6, 10)), (1, said(CUP, 0, 4))]
    assert memory_of(tmp_path, "memory", clips, "off").status().nodes["event"] == 2
    assert memory_of(tmp_path, "auto", clips, "auto").status().nodes["event"] == 2


def test_the_sum_of_the_worlds_is_that_of_what_is_live(tmp_path: Path) -> None:
    import duckdb

    from amr.store.hashing import EMPTY_SUM, add_to_sum

    memory = memory_of(tmp_path, "memory", [(i, said(CUP, 0, 10)) for i in range(5)])
    with duckdb.connect(str(memory.directory / "memory.duckdb"), read_only=True) as store:
        total, children = store.execute("SELECT sum, children FROM worlds WHERE node_id = -1").fetchall()[0]
        live = store.execute("SELECT hash FROM nodes WHERE retired_at IS NULL").fetchall()
        edges = store.execute("SELECT hash FROM edges WHERE retired_at IS NULL").fetchall()
        standing = store.execute("SELECT DISTINCT node_id FROM mentions WHERE retired_at IS NULL").fetchall()
        events = store.execute("SELECT node_id FROM nodes WHERE retired_at IS NULL AND kind = 'event'").fetchall()
    expected = EMPTY_SUM
    for (digest,) in live + edges:
        expected = add_to_sum(expected, int(digest, 16))
    assert (total, children) == (expected, len(live))
    assert sorted(standing) == sorted(events)
