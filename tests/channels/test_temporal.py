"""The temporal chain of a source is the same in whatever order its clips arrive."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amr.store import database
from amr.store.rows import View
from amr.store.writer import writing
from tests.support.memories import EMBEDDER, Film, said


def chain(directory: Path) -> list[tuple[str, str, int]]:
    with database.reading(directory) as snapshot:
        ids = snapshot.visible(View()).tolist()
        nodes = snapshot.nodes(ids)
        edges = snapshot.edges(ids, View(), "temporal")
        return sorted((nodes[e.src].text, nodes[e.dst].text, e.payload["gap_ms"]) for e in edges)


def test_an_event_follows_the_one_before_it_with_the_gap_between(tmp_path: Path) -> None:
    with writing(tmp_path, "test", EMBEDDER) as writer:
        film = Film(writer)
        film.clip(0, said("a", 0, 2), said("b", 1, 3))
        film.clip(1, said("c", 0, 1))
    assert chain(tmp_path) == [("a", "b", 0), ("b", "c", 7000)]


@given(st.permutations(range(4)), st.lists(st.integers(0, 3), min_size=4, max_size=4))
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_order_of_arrival_gives_the_same_chain_and_root(order: list[int], events: list[int]) -> None:
    def written(directory: Path, indexes: list[int]) -> tuple[object, str]:
        with writing(directory, "test", EMBEDDER) as writer:
            film = Film(writer)
            for index in indexes:
                film.clip(index, *(said(f"{index}.{n}", n, n + 1) for n in range(events[index])))
        with database.reading(directory) as snapshot:
            return chain(directory), snapshot.root_hash()

    with tempfile.TemporaryDirectory() as folder:
        assert written(Path(folder) / "a", list(order)) == written(Path(folder) / "b", sorted(order))


def test_as_of_between_two_clips_sees_no_edge_to_the_later(tmp_path: Path) -> None:
    with writing(tmp_path, "test", EMBEDDER) as writer:
        film = Film(writer)
        nodes = [film.clip(index, said(str(index)))[0].node_id for index in (0, 2, 1)]
    with database.reading(tmp_path) as snapshot:
        assert len(snapshot.edges(nodes, View(as_of=20_000))) == 1
        assert len(snapshot.edges(nodes, View(as_of=30_000))) == 2
