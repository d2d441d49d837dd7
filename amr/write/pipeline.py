"""From drafts to commits: clips are numbered, merged, linked and written in turn, each whole or not at all."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from amr.channels.view import View
from amr.config import Settings
from amr.media.source import TEXT_KINDS, Source
from amr.models.chat import CallFailed
from amr.models.embedders import Embedder
from amr.models.open import Models
from amr.perceive.perception import Perceived
from amr.records import Clip, Node
from amr.store import database
from amr.store.rows import Batch, ClipRow, ObservationRow
from amr.store.writer import Writer
from amr.write.commit import finish_pass, link_events
from amr.write.drafts import Draft, Submit
from amr.write.events import ClipPlace, embedded_text, mentions_of
from amr.write.foresight import Foresight
from amr.write.merging import Merger, Recent, merging, summariser
from amr.write.people import Entities
from amr.write.target import Target

BATCH_ROWS = 5_000
BATCH_SECONDS = 1.0


@dataclass
class SourceReport:
    """What one command did with a source. Times in seconds; `warnings` are sentences for the user.

    The clips of a chat are its sessions, and `turns` counts what was said in them; `facts_failed` are sessions of
    which a model failed to tell facts.

    Of the failed clips, `clips_unperceived` could be read, but a model failed. `salvages` counts what had to be
    mended in models' replies.
    """

    source_id: int
    source: str
    is_chat: bool = False
    clips: int = 0
    turns: int = 0
    facts: int = 0
    facts_failed: int = 0
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
    """What a command writes with."""

    settings: Settings
    models: Models
    embedder: Embedder

    def roles(self, sources: Sequence[Source]) -> dict[str, str]:
        """The models of the roles that are not the perceiver's."""
        merged = any(merging(self.settings, source.kind) for source in sources)
        return {"embedder": self.embedder.name, **({"merge": self.settings.model_of("merge")} if merged else {})}


class Pipeline:
    """Collects whole clips and commits them, at the latest after BATCH_SECONDS: what takes longer, one by one."""

    def __init__(self, writer: Writer, target: Target, report: SourceReport, tools: Tools, merges: bool) -> None:
        self._writer = writer
        self._target = target
        self._report = report
        self._tools = tools
        self._view = View(writer.directory)
        self._view.know(target.row.scope_id, target.tracks)
        self._pending = target.opening
        self._unembedded: list[Node] = []
        self._unlinked: list[Node] = []
        self._leaving: list[Node] = []
        self._reach = self._stored_reach()
        self._merger = self._make_merger() if merges else None
        by_model = tools.settings.perceives_with_model
        self._foresight = Foresight(self._merger) if self._merger is not None and by_model else None
        self._latest: list[Recent] | None = None

    def take(self, draft: Draft, at_once: bool) -> None:
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
            self._report.video_seconds += self._seconds_of_film(clip)
        # The first clip of a command is committed at once: there is something to ask from the start.
        waited = time.monotonic() - self._writer.committed_at
        overdue = self._pending.rows() >= BATCH_ROWS or waited >= BATCH_SECONDS
        if at_once or overdue:
            self.flush()

    def _seconds_of_film(self, clip: Clip) -> float:
        return 0.0 if self._target.row.kind in TEXT_KINDS else (clip.end_ms - clip.start_ms) / 1000

    def foresee(self, coming: list[Draft], submit: Submit) -> None:
        """Has the calls of merges made ahead, by what is known of the clips that come next."""
        if self._foresight is not None and self._latest is not None:
            self._foresight.look(self._latest, coming, submit)

    def flush(self, finished: bool = False) -> None:
        """Commits what is pending, if a clip is; with `finished` the row of the source is written too, as it is now."""
        row = self._target.row if finished else None
        if not self._pending.clips:
            if row is not None:
                finish_pass(self._writer, row, None, [])
            return
        texts = [embedded_text(node) for node in self._unembedded]
        self._add_vectors(self._unembedded, self._tools.embedder.embed(texts) if texts else [])
        link_events(self._writer, self._view, self._pending, self._unlinked, self._leaving)
        batch, self._pending = self._pending, Batch()
        self._unembedded, self._unlinked, self._leaving = [], [], []
        batch.calls += self._tools.models.calls.take_rows()
        self._writer.commit(batch, self._target.staged, row)
        self._report.nodes += len(batch.nodes)
        self._report.edges += len(batch.edges)

    def _add_vectors(self, nodes: list[Node], rows: NDArray[np.float32] | list[NDArray[np.float32]]) -> None:
        self._pending.vectors += [(node.node_id, "text", row) for node, row in zip(nodes, rows, strict=True)]

    def _write(self, draft: Draft, perceived: Perceived) -> None:
        late = bool(draft.nodes) and self._reach >= min(map(_place_of, draft.nodes))
        live = self._numbered(draft) if late or self._merger is None else self._merged(draft, self._merger)
        if late:
            self._latest = None
        self._pending.mentions += [mention for node in live for mention in mentions_of(node)]
        self._unlinked += live
        self._reach = max([self._reach, *map(_place_of, live)])
        if perceived.names:
            self._entities.name(draft.place, draft.nodes, self._pending)
        self._add_clip(draft, "done")
        self._observe(draft, perceived.analysis.model_dump_json(), perceived.raw, perceived.prompt_hash)
        self._report.salvages += perceived.salvages
        self._report.warnings += [f"Clip {draft.clip.index}: {problem}." for problem in perceived.problems]

    @cached_property
    def _entities(self) -> Entities:
        return Entities(self._writer, self._target.current.pass_id)

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
        self._leaving += merged.retired
        self._report.merges += merged.merges
        self._report.salvages += merged.salvages
        return merged.live

    def _stored_reach(self) -> tuple[int, int]:
        """The place of the event of the pass that begins last."""
        row, nothing = self._target.row, (-(2**62), 0)
        if self._target.opening.passes:
            return nothing
        with database.reading(self._writer.directory) as snapshot:
            last = snapshot.last_events(row.source_id, self._target.current.pass_id, 1)
        return _place_of(last[0]) if last else nothing

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
        model = (perceived.model if perceived else "") or self._target.current.perceiver
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


def _place_of(node: Node) -> tuple[int, int]:
    """Where an event stands in its source."""
    return node.t_start_ms or 0, node.clip_first or 0
