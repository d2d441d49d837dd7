"""The walk over the channels: what it reaches, by which way, in what order, and where it stops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from amr.memory import Filters
from amr.records import Edge, Step
from amr.retrieve.constants import Walk, walk
from amr.retrieve.navigate import Walked, navigate
from amr.store import database
from amr.store.hashing import edge_hash
from amr.store.rows import Batch, View
from amr.store.snapshot import Snapshot
from amr.store.writer import writing
from tests.retrieve.lives import live, settings
from tests.support.memories import EMBEDDER, Film, said

EVERYTHING = View()
WALK = Walk(
    width=20,
    hops=3,
    visited=100,
    decay=0.9,
    converged=0.0,
    every=2,
    channels={
        "Object_Tracking": {"object_lifecycle": 1.0, "temporal": 0.5},
        "General": {"temporal": 0.5, "object_lifecycle": 1.0},
    },
    occasional={"General": frozenset(["object_lifecycle"])},
)


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    """Ten events, one a clip, each after the other in time; a lifecycle edge joins the first and the last."""
    with writing(tmp_path, "test", EMBEDDER) as writer:
        film = Film(writer)
        nodes = [film.clip(index, said(f"event {index}"))[0] for index in range(10)]
        first, last = nodes[0], nodes[-1]
        digest = edge_hash("object_lifecycle", first.hash, last.hash, {})
        edge = Edge(writer.new_id("edges"), "default", "object_lifecycle", first.node_id, last.node_id, {}, digest)
        edge.learnt_at = last.learnt_at
        writer.commit(Batch(edges=[edge]))
    return tmp_path


@contextmanager
def opened(directory: Path) -> Iterator[tuple[Snapshot, list[int]]]:
    with database.reading(directory) as snapshot:
        yield snapshot, snapshot.visible(View()).tolist()


def like(values: dict[int, float]) -> Callable[[NDArray[np.int64]], NDArray[np.float64]]:
    return lambda ids: np.array([values.get(int(i), 0.0) for i in ids])


def walked(
    snapshot: Snapshot,
    entry: int,
    kind: str = "Object_Tracking",
    view: View = EVERYTHING,
    constants: Walk = WALK,
    likeness: dict[int, float] | None = None,
) -> Walked:
    visible = snapshot.visible(view)
    return navigate(snapshot, view, visible, [(entry, 1.0)], kind, like(likeness or {}), constants)


def test_a_neighbour_without_a_word_of_the_question_is_reached_with_its_way(chain: Path) -> None:
    with opened(chain) as (snapshot, ids):
        found = walked(snapshot, ids[0])
    assert found.reached[ids[9]].path == (Step("object_lifecycle", ids[0], ids[9]),)
    assert found.reached[ids[8]].path == (
        Step("object_lifecycle", ids[0], ids[9]),
        Step("temporal", ids[9], ids[8]),
    )


def test_edges_are_walked_both_ways(chain: Path) -> None:
    with opened(chain) as (snapshot, ids):
        found = walked(snapshot, ids[9])
    assert {ids[0], ids[8], ids[1], ids[7]} <= set(found.reached)


def test_a_score_is_half_the_parents_and_half_channel_and_likeness_less_by_the_hop(chain: Path) -> None:
    with opened(chain) as (snapshot, ids):
        found = walked(snapshot, ids[4], likeness={ids[5]: 0.6})
    assert found.reached[ids[5]].score == pytest.approx(0.9 * (0.5 * 1.0 + 0.5 * 0.5 * (0.3 + 0.7 * 0.6)))
    assert found.reached[ids[3]].score == pytest.approx(0.9 * (0.5 * 1.0 + 0.5 * 0.5 * 0.3))


def test_the_beam_keeps_the_best_and_the_walk_ends_at_its_limits(chain: Path) -> None:
    with opened(chain) as (snapshot, ids):
        narrow = walked(snapshot, ids[4], constants=replace(WALK, width=1), likeness={ids[5]: 0.9})
        few = walked(snapshot, ids[4], constants=replace(WALK, visited=4))
        short = walked(snapshot, ids[4], constants=replace(WALK, hops=1))
        level = walked(snapshot, ids[4], constants=replace(WALK, converged=1.0))
    assert [[one.node_id for one in hop] for hop in narrow.hops[:2]] == [[ids[4]], [ids[5]]]
    assert (len(few.reached), few.ended) == (4, "4 nodes were visited")
    assert (sorted(short.reached), short.ended) == (ids[3:6], "1 hops were taken")
    assert level.ended == "the scores converged"


def test_a_channel_that_is_switched_off_is_not_walked(chain: Path) -> None:
    with opened(chain) as (snapshot, ids):
        without = walked(snapshot, ids[0], view=View(without=frozenset(["object_lifecycle"])))
        nothing = walked(snapshot, ids[0], view=View(without=frozenset(["object_lifecycle", "temporal"])))
    assert sorted(without.reached) == ids[:4]
    assert (list(nothing.reached), nothing.ended) == ([ids[0]], "nothing new was reached")


def test_an_occasional_channel_is_walked_at_every_second_hop(chain: Path) -> None:
    with opened(chain) as (snapshot, ids):
        found = walked(snapshot, ids[1], "General")
        again = walked(snapshot, ids[1], "General")
    assert [step.channel for step in found.reached[ids[9]].path] == ["temporal", "object_lifecycle"]
    assert ids[9] not in [one.node_id for one in found.hops[1]]
    assert found == again


def test_an_edge_to_what_may_not_be_seen_yet_is_not_walked(chain: Path) -> None:
    with opened(chain) as (snapshot, ids):
        found = walked(snapshot, ids[0], view=View(as_of=50_000))
    assert max(found.reached) < ids[5]


def test_what_another_filter_hides_is_no_way_through(chain: Path) -> None:
    with opened(chain) as (snapshot, ids):
        found = walked(snapshot, ids[2], view=View(from_ms=20_000, without=frozenset(["object_lifecycle"])))
    assert min(found.reached) == ids[2]


def test_every_type_of_question_walks_the_channels_of_the_paper_in_their_order() -> None:
    channels = {kind: list(weights) for kind, weights in walk().channels.items()}
    assert channels == {
        "Object_Tracking": ["object_lifecycle", "temporal", "entity_jump"],
        "Person_Understanding": ["entity_jump", "temporal"],
        "Temporal_Multihop": ["temporal", "entity_jump"],
        "Cross_Modal": ["cross_modal", "temporal"],
        "General": ["temporal", "entity_jump", "object_lifecycle"],
    }


def test_evidence_that_a_walk_came_to_tells_its_way_from_an_anchor(tmp_path: Path) -> None:
    cues = [(10 * n, f"I do thing number {n}.") for n in range(30)]
    cues += [(300, "I pick up the violin."), (302, "There it stays."), (304, "Nobody speaks.")]
    memory = live(tmp_path, cues)
    found = memory.query("where is the violin", settings(), Filters(), k=60).evidence
    ways = {evidence.node.text: evidence.path for evidence in found}
    assert ways["I pick up the violin."] == []
    assert any(way for way in ways.values())
    for evidence in found:
        if evidence.path:
            assert evidence.path[-1].dst == evidence.node.node_id
            assert all(a.dst == b.src for a, b in zip(evidence.path, evidence.path[1:], strict=False))
