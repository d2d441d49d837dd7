"""Streams a source into the memory: clip by clip, in time order, each clip whole or not at all."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from amr import interrupt
from amr.channels.view import View
from amr.config import Settings
from amr.errors import ProviderError
from amr.media.source import Source
from amr.models.chat import CallFailed
from amr.models.embedders import Embedder
from amr.models.open import Models
from amr.perceive.perceiver import Perceiver
from amr.perceive.perception import Perceived
from amr.records import Clip, Node
from amr.store import database
from amr.store.rows import Batch, ClipRow, ObservationRow
from amr.store.writer import Writer
from amr.write.commit import link_events
from amr.write.drafts import Draft, Drafter, drafted
from amr.write.events import ClipPlace, embedded_text, mentions_of
from amr.write.merging import Merger, Recent, merging, summariser
from amr.write.target import Target, finish, open_target

BATCH_ROWS = 2_000
BATCH_SECONDS = 1.0


@dataclass
class SourceReport:
    """What one command did with a source. Times in seconds; `warnings` are sentences for the user.

    Of the failed clips, `clips_unperceived` could be read, but a model failed. `salvages` counts what had to be
    mended in models' replies.
    """

    source_id: int
    source: str
    clips: int = 0
    clips_skipped: int = 0
    clips_failed: int = 0
    clips_unperceived: int = 0
    nodes: int = 0
    edges: int = 0
    merges: int = 0
    video_seconds: float = 0.0
    salvages: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Tools:
    """What a command perceives and embeds with."""

    settings: Settings
    models: Models
    perceiver: Perceiver
    embedder: Embedder

    def roles(self, sources: Sequence[Source]) -> dict[str, str]:
        """The models of the roles that are not the perceiver's."""
        merged = any(merging(self.settings, source) for source in sources)
        return {"embedder": self.embedder.name, **({"merge": self.settings.model_of("merge")} if merged else {})}


def ingest_source(
    writer: Writer, source: Source, tools: Tools, scope: str, keep_pass: bool, progress: Callable[[int], None]
) -> SourceReport:
    """Writes every clip of `source` that the memory does not hold yet.

    `progress` is told the end, in milliseconds, of each clip that is done. A clip that cannot be read or perceived
    is recorded as failed and tried again by the next command. A Ctrl-C lets the clips in flight finish. Raises
    ProviderError, with all clips before it written, when no further clip can be perceived.
    """
    settings = tools.settings
    merges = merging(settings, source)
    target = open_target(writer, source, tools.perceiver, settings, scope, merges)
    report = SourceReport(target.row.source_id, source.name, clips_skipped=len(target.done))
    report.warnings += source.warnings
    # What costs money is written as soon as it is there. A folder may grow, and each of its clips is to be seen at
    # once. The rest is a backlog, written in groups.
    text_only = source.kind in ("captions", "events")
    paid = (settings.perceives_with_model and source.kind != "events") or (
        settings.speech.asks_model and not text_only
    )
    alone = paid or merges or source.kind == "folder"
    drafter = Drafter(tools.perceiver, tools.embedder, writer.directory, at_once=paid or merges)
    pipeline = _Pipeline(writer, target, report, tools, merges)
    ends = [end for _, end in target.done.values()]
    jobs = settings.jobs if paid or not text_only else 1
    clips = _until_interrupted(source, target)

    def make(clip: Clip) -> Draft:
        return drafter.draft(clip, target.place(clip))

    with interrupt.held():
        try:
            for draft in drafted(clips, make, jobs, tools.models.stop):
                pipeline.take(draft, text_only, at_once=alone)
                ends.append(draft.clip.end_ms)
                progress(draft.clip.end_ms)
        except ProviderError:
            pipeline.flush()
            raise
        # Not in a finally: another error can strike while a clip is taken, which must not be committed by half.
        pipeline.flush()
    interrupt.check()
    finish(
        *(writer, source, target),
        failed=report.clips_failed > 0,
        wrote=report.clips + report.clips_failed > 0,
        keep_pass=keep_pass,
        end_ms=max(ends, default=0),
    )
    return report


def _until_interrupted(source: Source, target: Target) -> Iterator[Clip]:
    """The clips that are not there yet, up to a Ctrl-C, which may strike while one is waited for."""
    clips = source.clips(set(target.done))
    if source.kind == "video":
        clips = _ahead(clips)
    fresh = not target.done
    while not interrupt.asked():
        try:
            with interrupt.held(False):
                clip = next(clips, None)
        except BaseException:
            # A library that is interrupted may raise an error of its own.
            if interrupt.asked():
                return
            raise
        if clip is None:
            return
        if fresh:
            # A followed folder that began empty learns its clock from its first clip.
            target.row.origin_wall_ms, fresh = source.origin_wall_ms, False
        yield clip


def _ahead(clips: Iterator[Clip]) -> Iterator[Clip]:
    """The clips, each read while the one before is perceived and written."""
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, clips, None)
        while (clip := coming.result()) is not None:
            coming = reader.submit(next, clips, None)
            yield clip


class _Pipeline:
    """Collects whole clips and commits them, at the latest after BATCH_SECONDS: what takes longer, one by one."""

    def __init__(self, writer: Writer, target: Target, report: SourceReport, tools: Tools, merges: bool) -> None:
        self._writer = writer
        self._target = target
        self._report = report
        self._tools = tools
        self._view = View(writer.directory)
        self._pending = target.opening
        self._unembedded: list[Node] = []
        self._merger = self._make_merger() if merges else None
        self._latest: list[Recent] | None = None
        self._since = 0.0  # the first clip is committed at once: there is something to ask from the start

    def take(self, draft: Draft, text_only: bool, at_once: bool) -> None:
        """Adds a clip's nodes and edges, and commits when enough is pending."""
        clip = draft.clip
        try:
            if draft.perceived is not None:
                self._write(draft, draft.perceived)
        except CallFailed as error:
            draft = replace(draft, perceived=None, error=str(error))
        if draft.perceived is None:
            self._add_clip(draft, "failed")
            self._report.clips_failed += 1
            self._report.clips_unperceived += clip.error is None
            self._report.warnings.append(clip.error or f"Clip {clip.index} failed: {draft.error}")
        else:
            self._report.clips += 1
            self._report.video_seconds += 0.0 if text_only else (clip.end_ms - clip.start_ms) / 1000
        overdue = self._pending.rows() >= BATCH_ROWS or time.monotonic() - self._since >= BATCH_SECONDS
        if at_once or overdue:
            self.flush()

    def flush(self) -> None:
        """Commits what is pending, if a clip is."""
        self._since = time.monotonic()
        if not self._pending.clips:
            return
        texts = [embedded_text(node) for node in self._unembedded]
        self._add_vectors(self._unembedded, self._tools.embedder.embed(texts) if texts else [])
        batch, self._pending, self._unembedded = self._pending, Batch(), []
        batch.calls += self._tools.models.calls.take_rows()
        self._writer.commit(batch, staged=self._target.staged)
        self._report.nodes += len(batch.nodes)
        self._report.edges += len(batch.edges)

    def _add_vectors(self, nodes: list[Node], rows: NDArray[np.float32] | list[NDArray[np.float32]]) -> None:
        self._pending.vectors += [(node.node_id, "text", row) for node, row in zip(nodes, rows, strict=True)]

    def _write(self, draft: Draft, perceived: Perceived) -> None:
        place = draft.place
        last = self._view.last_event(place.source_id, place.pass_id)
        late = last is not None and (last.t_start_ms or 0) >= place.start_ms
        if late and self._pending.nodes:
            # A clip that comes late is linked by what is stored, so what is pending must be stored first.
            self.flush()
        live = self._numbered(draft) if late or self._merger is None else self._merged(draft, self._merger)
        if late:
            self._latest = None
        self._pending.mentions += [mention for node in live for mention in mentions_of(node)]
        link_events(self._writer, self._view, self._pending, live)
        self._add_clip(draft, "done")
        self._observe(draft, perceived.analysis.model_dump_json(), perceived.raw, perceived.prompt_hash)
        self._report.salvages += perceived.salvages
        self._report.warnings += [f"Clip {draft.clip.index}: {problem}." for problem in perceived.problems]

    def _numbered(self, draft: Draft) -> list[Node]:
        """The events of a clip as they are."""
        nodes = draft.nodes
        for node in nodes:
            node.node_id = self._writer.new_id("nodes")
        self._pending.nodes += nodes
        if draft.vectors is None:
            self._unembedded += nodes
        else:
            self._add_vectors(nodes, draft.vectors)
        return nodes

    def _merged(self, draft: Draft, merger: Merger) -> list[Node]:
        """The events of a clip, merged with each other and with those before; gives those that stand."""
        assert draft.vectors is not None
        if self._latest is None:
            self._latest = self._stored_latest(draft.place)
        merged = merger.merge(draft.place, self._latest, draft.nodes, draft.vectors)
        self._latest = merged.latest
        for one in merged.written:
            self._pending.nodes.append(one.node)
            self._add_vectors([one.node], [one.vector])
        self._pending.retired_nodes += [(node.node_id, node.retired_at or 0) for node in merged.retired]
        self._view.retire(merged.retired)
        self._report.merges += merged.merges
        self._report.salvages += merged.salvages
        return merged.live

    def _stored_latest(self, place: ClipPlace) -> list[Recent]:
        lookback = self._tools.settings.merge.lookback
        with database.reading(self._writer.directory) as snapshot:
            nodes = snapshot.last_events(place.source_id, place.pass_id, lookback)[::-1]
            ids, rows = snapshot.vectors(np.sort(np.asarray([node.node_id for node in nodes], np.int64)))
        vectors = dict(zip(ids.tolist(), rows, strict=True))
        return [Recent(node, vectors[node.node_id]) for node in nodes]

    def _make_merger(self) -> Merger:
        settings, writer = self._tools.settings, self._writer
        return Merger(
            settings.merge,
            self._tools.embedder,
            summariser(settings, self._tools.models),
            lambda: writer.new_id("nodes"),
            settings.perceives_with_model,
        )

    def _observe(self, draft: Draft, analysis: str | None, raw: str | None, prompt_hash: str | None) -> None:
        place, perceived = draft.place, draft.perceived
        model = (perceived.model if perceived else "") or self._tools.perceiver.name
        cost = perceived.cost_usd if perceived else 0.0
        row = (place.source_id, place.clip_index, place.pass_id, analysis, raw, prompt_hash, model, cost)
        self._pending.observations.append(ObservationRow(*row))

    def _add_clip(self, draft: Draft, state: str) -> None:
        clip, place = draft.clip, draft.place
        uri = clip.uri or (str(clip.path) if clip.path else "")
        if clip.index in self._target.failed:
            self._pending.retried.append((place.pass_id, clip.index))
        row = (place.source_id, place.pass_id, clip.index, clip.start_ms, clip.end_ms, uri, state, draft.error)
        self._pending.clips.append(ClipRow(*row))
        if state == "failed" and draft.raw is not None:
            self._observe(draft, None, draft.raw, None)
