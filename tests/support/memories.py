"""Small memories for tests, written through the real store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from amr.channels.view import View
from amr.perceive.perception import Perceived
from amr.records import Action, ClipAnalysis, EventReport, Node, ObjectReport
from amr.store.rows import Batch, ClipRow, PassRow, SourceRow
from amr.store.writer import Writer
from amr.write.commit import link_events
from amr.write.events import ClipPlace, event_nodes, mentions_of, world_node

EMBEDDER = "test:8"


def said(text: str, start: float = 0.0, end: float = 1.0, obj: str = "") -> ClipAnalysis:
    """An analysis with one event."""
    action = [Action(actor="wearer", verb="hold", object=obj)] if obj else []
    objects = [ObjectReport(name=obj)] if obj else []
    event = EventReport(
        local_event_id="E1",
        time_start=start,
        time_end=end,
        summary=text,
        actors=["wearer"],
        objects=objects,
        actions=action,
    )
    return ClipAnalysis(clip_summary=text, events=[event])


class Film:
    """Writes clips of ten seconds of one source straight into the store, in whatever order a test wants.

    Films that are written in turns share a `view`; `wall_ms` is the wall clock of the film's beginning.
    """

    def __init__(
        self,
        writer: Writer,
        scope: str = "default",
        key: str = "film",
        staged: bool = False,
        wall_ms: int | None = None,
        view: View | None = None,
    ) -> None:
        self.writer, self.scope, self.staged, self.wall_ms = writer, scope, staged, wall_ms
        self.view = view or View(writer.directory)
        self.source = SourceRow(writer.new_id("sources"), scope, key, "video", key, "", wall_ms, None, False)
        self.current = PassRow(
            writer.new_id("passes"), self.source.source_id, "test", "s", 10_000, "staged" if staged else "live"
        )
        scope_node = world_node(writer.new_id("nodes"), "scope", scope, None, "", None)
        mine = world_node(writer.new_id("nodes"), "source", scope, self.source.source_id, key, scope_node.node_id)
        self.parent_id = mine.node_id
        self._opening = Batch(sources=[self.source], passes=[self.current], nodes=[scope_node, mine])

    def perceive_anew(self, staged: PassRow) -> None:
        """Writes the clips that follow into another pass, which is not seen until it is finished."""
        self.current, self.staged, self._opening = staged, True, Batch(passes=[staged])

    def clip(self, index: int, *analyses: ClipAnalysis) -> list[Node]:
        """Commits one clip with the events of the analyses."""
        batch, self._opening = self._opening, Batch()
        nodes = []
        for analysis in analyses:
            place = ClipPlace(
                self.scope,
                self.source.source_id,
                self.source.key,
                self.current.pass_id,
                self.parent_id,
                index,
                index * 10_000,
                index * 10_000 + 10_000,
                self.wall_ms,
            )
            perceived = Perceived(analysis)
            nodes += event_nodes(place, perceived)
        for node in nodes:
            node.node_id = self.writer.new_id("nodes")
        batch.nodes += nodes
        batch.mentions += [mention for node in nodes for mention in mentions_of(node)]
        batch.vectors += [(node.node_id, "text", unit(node.node_id)) for node in nodes]
        link_events(self.writer, self.view, batch, nodes)
        row = ClipRow(
            self.source.source_id, self.current.pass_id, index, index * 10_000, index * 10_000 + 10_000, "", "done"
        )
        batch.clips.append(row)
        self.writer.commit(batch, staged=self.staged)
        return nodes


def unit(seed: int, dimensions: int = 8) -> np.ndarray:
    """A unit vector that depends on the seed alone."""
    vector = np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32)
    return vector / np.linalg.norm(vector)


def events_jsonl(path: Path, rows: Sequence[tuple[int, ClipAnalysis]], source: str = "film") -> Path:
    """An events JSONL of ten-second clips."""
    lines = [
        {
            "source": source,
            "clip": index,
            "t_start": index * 10.0,
            "t_end": index * 10.0 + 10.0,
            "analysis": analysis.model_dump(),
        }
        for index, analysis in rows
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
