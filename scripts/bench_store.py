"""Measures the store: what a commit takes as the memory grows, waiting at the gate, and bulk ingestion of text."""

from __future__ import annotations

import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench_tools import Row, analysis

from amr.channels.view import View
from amr.config import load_settings
from amr.memory import Memory
from amr.models.embedding import EMBEDDER_NAME, embed
from amr.perceive.perception import Perceived
from amr.records import Node
from amr.store import gate
from amr.store.rows import Batch, ClipRow, ObservationRow, PassRow, SourceRow
from amr.store.writer import Writer, writing
from amr.write.commit import link_events
from amr.write.events import ClipPlace, embedded_text, event_nodes, mentions_of, world_node

READERS = 8
_LOCK_SECONDS = 15.0


class Film:
    """Writes made-up clips as `amr ingest` writes those of a video."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._view = View(writer.directory)
        self._source = SourceRow(writer.new_id("sources"), "default", "film", "video", "film", "", None, None, False)
        self._pass = PassRow(writer.new_id("passes"), self._source.source_id, "bench", "s", 10_000, "live")
        scope = world_node(writer.new_id("nodes"), "scope", "default", None, "", None)
        mine = world_node(writer.new_id("nodes"), "source", "default", self._source.source_id, "film", scope.node_id)
        self._parent = mine.node_id
        self._opening = Batch(sources=[self._source], passes=[self._pass], nodes=[scope, mine])

    def write(self, indexes: range) -> float:
        """Commits clips in one transaction; returns the seconds it took."""
        batch, self._opening = self._opening, Batch()
        nodes = [node for index in indexes for node in self._add(batch, index)]
        link_events(self._writer, self._view, batch, nodes)
        started = time.perf_counter()
        self._writer.commit(batch)
        return time.perf_counter() - started

    def _add(self, batch: Batch, index: int) -> list[Node]:
        source, begin = self._source, index * 10_000
        place = ClipPlace(
            "default", source.source_id, "film", self._pass.pass_id, self._parent, index, begin, begin + 10_000, None
        )
        seen = analysis(index)
        told = Perceived(seen)
        nodes = event_nodes(place, told)
        for node in nodes:
            node.node_id = self._writer.new_id("nodes")
        vectors = embed([embedded_text(node) for node in nodes])
        batch.nodes += nodes
        batch.mentions += [mention for node in nodes for mention in mentions_of(node)]
        batch.vectors += [(node.node_id, "text", vector) for node, vector in zip(nodes, vectors, strict=True)]
        batch.clips.append(ClipRow(source.source_id, self._pass.pass_id, index, begin, begin + 10_000, "", "done"))
        batch.observations.append(
            ObservationRow(
                source.source_id, index, self._pass.pass_id, seen.model_dump_json(), None, None, "bench", 0.0
            )
        )
        return nodes


@contextmanager
def made_film(folder: Path) -> Iterator[Film]:
    with writing(folder, "bench", EMBEDDER_NAME) as writer:
        yield Film(writer)


def commit_rows(clips: int = 5000, samples: int = 100) -> list[Row]:
    """Commits around a late clip beside those around clip 50, taken in turns so that both meet the same load."""
    late, early = [], []
    with (
        tempfile.TemporaryDirectory() as old,
        tempfile.TemporaryDirectory() as new,
        made_film(Path(old)) as grown,
        made_film(Path(new)) as young,
    ):
        for first in range(0, clips - samples // 2, 25):
            grown.write(range(first, first + 25))
        young.write(range(1))
        for number in range(1, samples + 1):
            early.append(young.write(range(number, number + 1)))
            at = clips - samples // 2 + number + 24
            late.append(grown.write(range(at, at + 1)))
    a, b = statistics.median(early) * 1000, statistics.median(late) * 1000
    note = f"medians {b:.1f} ms and {a:.1f} ms, slowest {max(late) * 1000:.0f} and {max(early) * 1000:.0f} ms"
    return [Row(f"commit around clip {clips} over clip 50", b / a, "x", 1.2, True, note)]


def gate_rows() -> list[Row]:
    """Eight processes ask without a pause while this one commits clips."""
    context = multiprocessing.get_context("spawn")
    stop, waits = context.Event(), context.Queue()
    with tempfile.TemporaryDirectory() as folder, made_film(Path(folder)) as film:
        film.write(range(200))
        readers = [context.Process(target=_ask_on, args=(folder, stop, waits)) for _ in range(READERS)]
        for reader in readers:
            reader.start()
        for _ in readers:
            waits.get()
        with _waiting("exclusive") as mine:
            end = time.monotonic() + _LOCK_SECONDS
            index = 200
            while time.monotonic() < end:
                film.write(range(index, index + 1))
                index += 1
        stop.set()
        theirs = sorted(wait for _ in readers for wait in waits.get())
        for reader in readers:
            reader.join()
    p95 = sorted(mine)[int(len(mine) * 0.95)]
    asked = f"{len(mine)} commits beside {len(theirs)} questions in {_LOCK_SECONDS:.0f} s"
    return [
        Row(f"writer's wait at the gate, p95, {READERS} readers", p95, "s", 0.5, True, asked),
        Row(
            "reader's longest wait at the gate",
            theirs[-1],
            "s",
            1.0,
            True,
            f"p95 {theirs[int(len(theirs) * 0.95)]:.2f} s",
        ),
    ]


def _ask_on(folder: str, stop: Any, waits: Any) -> None:
    memory, settings = Memory(Path(folder)), load_settings()
    memory.ask("where is my phone", settings)
    waits.put(None)
    with _waiting("reading") as mine:
        while not stop.is_set():
            memory.ask("where is my phone", settings)
    waits.put(mine)


@contextmanager
def _waiting(name: str) -> Iterator[list[float]]:
    """The seconds that each pass through the gate took to begin."""
    seconds: list[float] = []
    whole = getattr(gate, name)

    @contextmanager
    def timed(directory: Path) -> Iterator[None]:
        started = time.perf_counter()
        with whole(directory):
            seconds.append(time.perf_counter() - started)
            yield

    setattr(gate, name, timed)
    try:
        yield seconds
    finally:
        setattr(gate, name, whole)


def write_events(path: Path, clips: int) -> None:
    """An events file of five events a clip."""
    with path.open("w") as file:
        for index in range(clips):
            begin = index * 10.0
            row = {"source": "film", "clip": index, "t_start": begin, "t_end": begin + 10.0}
            file.write(json.dumps({**row, "analysis": analysis(index).model_dump()}) + "\n")


def text_rows() -> list[Row]:
    """25,000 events from an events file, from parsing to the last checkpoint."""
    settings = load_settings(perceiver="null")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.jsonl"
        write_events(path, 5000)
        started, cpu = time.perf_counter(), time.process_time()
        report = Memory(Path(folder) / "memory").ingest(path, settings)
        wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    nodes = sum(source.nodes for source in report.sources)
    note = f"{wall:.1f} s, {cpu:.1f} s of processor time ({nodes / cpu:.0f} nodes for each)"
    return [Row(f"events file of {nodes} nodes", nodes / wall, "nodes/s", note=note)]
