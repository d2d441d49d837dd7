"""Streams a source into the memory: clip by clip, in time order, each clip whole or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from blake3 import blake3

from amr.channels.view import View
from amr.config import Settings
from amr.errors import UsageError
from amr.media.frame import save_frame
from amr.media.source import Source
from amr.models.embedding import embed
from amr.perceive.perceiver import Perceiver
from amr.records import Clip, ClipAnalysis, Frame, Node
from amr.store import database
from amr.store.rows import Batch, ClipRow, ObservationRow, PassRow, SourceRow
from amr.store.writer import Writer
from amr.write.commit import link_events
from amr.write.events import ClipPlace, event_node, events_of, mentions_of, world_node

FRAMES_PER_CLIP = 3
BATCH_ROWS = 2_000
BATCH_SECONDS = 1.0


@dataclass
class SourceReport:
    """What one command did with a source. Times in seconds; `warnings` are sentences for the user."""

    source_id: int
    source: str
    clips: int = 0
    clips_skipped: int = 0
    clips_failed: int = 0
    nodes: int = 0
    edges: int = 0
    video_seconds: float = 0.0
    cost_usd: float = 0.0
    warnings: list[str] = field(default_factory=list)


@dataclass
class _Target:
    """Where a source is written: its row, the pass, and the node that contains its events."""

    row: SourceRow
    current: PassRow
    others: list[PassRow]
    parent_id: int
    done: dict[int, tuple[int, int]]
    failed: set[int]
    opening: Batch


def ingest_source(
    writer: Writer,
    source: Source,
    perceiver: Perceiver,
    settings: Settings,
    scope: str,
    keep_pass: bool,
    progress: Callable[[int], None],
) -> SourceReport:
    """Writes every clip of `source` that the memory does not hold yet.

    `progress` is told the end, in milliseconds, of each clip that is done. A clip that cannot be read is recorded
    as failed and tried again by the next command. An interruption loses the clips that are not committed yet.
    """
    target = _target(writer, source, perceiver, settings, scope)
    report = SourceReport(target.row.source_id, source.name, clips_skipped=len(target.done))
    report.warnings += source.warnings
    pipeline = _Pipeline(writer, target, report, perceiver)
    ends = [end for _, end in target.done.values()]
    clips = source.clips(set(target.done))
    for clip in _ahead(clips) if source.kind == "video" else clips:
        if not ends:
            # A followed folder that began empty learns its clock from its first clip.
            target.row.origin_wall_ms = source.origin_wall_ms
        # A folder may grow, and each of its clips is to be seen at once; the rest is a backlog, written in groups.
        pipeline.take(clip, text_only=source.kind in ("captions", "events"), at_once=source.kind == "folder")
        ends.append(clip.end_ms)
        progress(clip.end_ms)
    # Not in a finally: an interruption can strike in the middle of a clip, which must not be committed by half.
    pipeline.flush()
    _finish(writer, source, target, report, keep_pass, max(ends, default=0))
    return report


def _ahead(clips: Iterator[Clip]) -> Iterator[Clip]:
    """The clips, each read while the one before is perceived and written."""
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, clips, None)
        while (clip := coming.result()) is not None:
            coming = reader.submit(next, clips, None)
            yield clip


def _target(writer: Writer, source: Source, perceiver: Perceiver, settings: Settings, scope: str) -> _Target:
    opening = Batch()
    clip_ms = round(settings.clip_seconds * 1000) if source.kind in ("video", "captions") else 0
    digest = blake3(f"{perceiver.settings_hash(source.has_captions)}|{source.captions_key}".encode()).hexdigest()
    with database.reading(writer.directory) as snapshot:
        row = next((known for known in snapshot.sources(scope) if known.key == source.key), None)
        passes = [] if row is None else [p for p in snapshot.passes(row.source_id) if p.state != "replaced"]
        same = (perceiver.name, digest, clip_ms)
        current = next((p for p in passes if (p.perceiver, p.settings_hash, p.clip_ms) == same), None)
        clips = {} if row is None or current is None else snapshot.clips(row.source_id, current.pass_id)
        scope_node = snapshot.world_node(scope, None)
        source_node = None if row is None else snapshot.world_node(scope, row.source_id)
        numbered = {} if row is None else snapshot.clip_files(row.source_id)
    if row is not None and source.kind == "folder":
        _require_same_folder(row, source)
        # A clip file keeps the number and the zero of time that it had when it was first seen.
        source.known = {Path(uri).name: index for uri, index in numbered.items()}
        source.origin_wall_ms = row.origin_wall_ms
    if row is None:
        row = _source_row(writer, source, scope)
        opening.sources.append(row)
    if scope_node is None:
        opening.nodes.append(world_node(writer.new_id("nodes"), "scope", scope, None, "", None))
        scope_node = opening.nodes[-1].node_id
    if source_node is None:
        node_id = writer.new_id("nodes")
        opening.nodes.append(world_node(node_id, "source", scope, row.source_id, row.key, scope_node))
        source_node = node_id
    if current is None:
        state = "staged" if passes else "live"
        current = PassRow(writer.new_id("passes"), row.source_id, perceiver.name, digest, clip_ms, state)
        opening.passes.append(current)
    done = {index: (start, end) for index, (state, _, start, end) in clips.items() if state == "done"}
    failed = {index for index, (state, *_) in clips.items() if state == "failed"}
    others = [p for p in passes if p.pass_id != current.pass_id]
    return _Target(row, current, others, source_node, done, failed, opening)


def _require_same_folder(row: SourceRow, source: Source) -> None:
    """Folders are known by name: raises UsageError when another one has this name. A folder may be moved."""
    if row.uri != source.uri and Path(row.uri).is_dir():
        raise UsageError(
            f"The memory has another folder named {row.name}, {row.uri};"
            f" give {source.uri} a name of its own with --source."
        )


def _source_row(writer: Writer, source: Source, scope: str) -> SourceRow:
    return SourceRow(
        source_id=writer.new_id("sources"),
        scope_id=scope,
        key=source.key,
        kind=source.kind,
        name=source.name,
        uri=source.uri,
        origin_wall_ms=source.origin_wall_ms,
        duration_ms=source.duration_ms,
        complete=False,
    )


class _Pipeline:
    """Collects whole clips and commits them, at the latest after BATCH_SECONDS: what takes longer, one by one."""

    def __init__(self, writer: Writer, target: _Target, report: SourceReport, perceiver: Perceiver) -> None:
        self._writer = writer
        self._target = target
        self._report = report
        self._perceiver = perceiver
        self._view = View(writer.directory)
        self._pending = target.opening
        self._since = 0.0  # the first clip is committed at once: there is something to ask from the start

    def take(self, clip: Clip, text_only: bool, at_once: bool) -> None:
        """Perceives a clip, turns it into nodes and edges, and commits when enough is pending."""
        place = self._place(clip)
        if clip.error is not None:
            self._add_clip(clip, "failed")
            self._report.clips_failed += 1
            self._report.warnings.append(clip.error)
        else:
            self._write(clip, place, self._perceiver.perceive(clip))
            self._report.clips += 1
            self._report.video_seconds += 0.0 if text_only else (clip.end_ms - clip.start_ms) / 1000
        overdue = self._pending.rows() >= BATCH_ROWS or time.monotonic() - self._since >= BATCH_SECONDS
        if at_once or overdue:
            self.flush()

    def flush(self) -> None:
        """Commits what is pending, if a clip is."""
        batch, self._pending = self._pending, Batch()
        self._since = time.monotonic()
        if not batch.clips:
            self._pending = batch
            return
        events = [node for node in batch.nodes if node.kind == "event"]
        texts = [embedded_text(node) for node in events]
        vectors = embed(texts) if texts else np.zeros((0, 0), np.float32)
        batch.vectors += [(node.node_id, "text", vector) for node, vector in zip(events, vectors, strict=True)]
        self._writer.commit(batch, staged=self._target.current.state == "staged")
        self._report.nodes += len(batch.nodes)
        self._report.edges += len(batch.edges)

    def _place(self, clip: Clip) -> ClipPlace:
        row = self._target.row
        return ClipPlace(
            scope_id=row.scope_id,
            source_id=row.source_id,
            source_key=row.key,
            pass_id=self._target.current.pass_id,
            parent_id=self._target.parent_id,
            clip_index=clip.index,
            start_ms=clip.start_ms,
            end_ms=clip.end_ms,
            origin_wall_ms=row.origin_wall_ms,
        )

    def _write(self, clip: Clip, place: ClipPlace, analysis: ClipAnalysis) -> None:
        last = self._view.last_event(place.source_id, place.pass_id)
        if last is not None and (last.t_start_ms or 0) >= clip.start_ms and self._pending.nodes:
            # A clip that comes late is linked by what is stored, so what is pending must be stored first.
            self.flush()
        events = [event_node(self._writer.new_id("nodes"), place, analysis, event) for event in events_of(analysis)]
        self._pending.nodes += events
        self._pending.mentions += [mention for node in events for mention in mentions_of(node)]
        link_events(self._writer, self._view, self._pending, events)
        self._add_clip(clip, "done")
        self._pending.observations.append(
            ObservationRow(
                place.source_id,
                clip.index,
                place.pass_id,
                analysis.model_dump_json(),
                None,
                None,
                self._perceiver.name,
                0.0,
            )
        )
        _keep_frames(self._writer.directory, clip, events)

    def _add_clip(self, clip: Clip, state: str) -> None:
        uri = clip.uri or (str(clip.path) if clip.path else "")
        if clip.index in self._target.failed:
            self._pending.retried.append((self._target.current.pass_id, clip.index))
        self._pending.clips.append(
            ClipRow(
                self._target.row.source_id,
                self._target.current.pass_id,
                clip.index,
                clip.start_ms,
                clip.end_ms,
                uri,
                state,
                clip.error,
            )
        )


def embedded_text(node: Node) -> str:
    """What the embedding of an event is made from: its summary and the words spoken that it lacks."""
    return " ".join([node.text, *(words for words in node.payload["dialogue"] if words not in node.text)])


def _keep_frames(directory: Path, clip: Clip, events: list[Node]) -> None:
    """Stores at most three frames of a clip, each the nearest to the middle of an event."""
    middles = [((node.t_start_ms or 0) + (node.t_end_ms or 0)) // 2 for node in events]
    chosen: dict[int, Frame] = {}
    for middle in middles if clip.frames else []:
        nearest = min(clip.frames, key=lambda frame: (abs(frame.time_ms - middle), frame.time_ms))
        chosen[nearest.time_ms] = nearest
    source_id = events[0].source_id if events else None
    for time_ms in _spread(sorted(chosen), FRAMES_PER_CLIP):
        save_frame(chosen[time_ms], directory / "frames" / str(source_id) / f"{clip.index}_{time_ms}.jpg")


def _spread(times: list[int], most: int) -> list[int]:
    """At most `most` of the times, evenly spread from the first to the last."""
    if len(times) <= most:
        return times
    return [times[round(i * (len(times) - 1) / (most - 1))] for i in range(most)]


def _finish(
    writer: Writer, source: Source, target: _Target, report: SourceReport, keep_pass: bool, end_ms: int
) -> None:
    """Marks the source complete; a finished staged pass becomes live in place of the others."""
    if not (target.done or report.clips or report.clips_failed):
        return
    row, whole = target.row, not report.clips_failed
    revealed = target.current if whole and target.current.state == "staged" else None
    fresh = (source.uri, end_ms, whole)
    if revealed is None and (row.uri, row.duration_ms, row.complete) == fresh:
        return
    row.uri, row.duration_ms, row.complete = fresh
    writer.finish_pass(row, revealed, target.others if revealed and not keep_pass else [])
