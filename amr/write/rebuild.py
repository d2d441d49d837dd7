"""Makes the nodes of a source anew from what was observed of it, by the rules of today and without calling a model.

The clips go the way of an ingest, in the order in which they were first written, into a pass beside the one that
stands, and that takes its place once it is whole. A pass that was not finished is never gone on with: other rules may
have begun it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from amr import interrupt
from amr.config import Settings
from amr.errors import ProviderError
from amr.models.asking import role_model
from amr.models.calls import Calls
from amr.models.embedders import Embedder
from amr.models.names import parse_model_name
from amr.models.on_disk import NotOnDisk, OnDisk, embedder_on_disk
from amr.models.open import Models
from amr.perceive.multimodal import describe
from amr.perceive.perceiver import described_hash
from amr.perceive.perception import Perceived
from amr.records import Clip, ClipAnalysis
from amr.store import database
from amr.store.rows import Batch, ClipRow, ObservationRow, PassRow, SourceRow
from amr.store.writer import Writer
from amr.write.commit import finish_pass
from amr.write.drafts import Draft, Drafter
from amr.write.events import embedded_text
from amr.write.merging import merging
from amr.write.pipeline import Pipeline, SourceReport, Tools
from amr.write.target import Target, pass_hash

_CLIPS_AT_ONCE = 256
_NODES_AT_ONCE = 5_000


@dataclass(frozen=True)
class _Plan:
    """How a pass is made anew: what the new one is called, and all that it takes."""

    old: PassRow
    settings_hash: str
    tools: Tools
    merges: bool
    describe: Callable[[Perceived], Perceived]


def rebuild_source(
    writer: Writer, row: SourceRow, settings: Settings, calls: Calls, embedder: str, progress: Callable[[int], None]
) -> SourceReport:
    """Makes every standing pass over a source anew; `embedder` is the name recorded in the memory.

    `progress` is told the end, in milliseconds, of each clip that is done. Raises ProviderError, with the standing
    pass as it was, when a reply is needed that is not on disk.
    """
    with database.reading(writer.directory) as snapshot:
        passes = snapshot.passes(row.source_id)
        parent_id = snapshot.world_node(row.scope_id, row.source_id)
    assert parent_id is not None, "a source has a node from its first clip on"
    report = SourceReport(row.source_id, row.name)
    plans = [_plan(old, row, settings, calls, embedder, writer) for old in passes if old.state == "live"]
    unfinished = [old for old in passes if old.state == "rebuilding"]
    # Passes that differed only in how nodes were made of what was observed become one.
    for plan in {(plan.old.perceiver, plan.settings_hash, plan.old.clip_ms): plan for plan in plans}.values():
        alike = [p.old for p in plans if (p.old.perceiver, p.settings_hash, p.old.clip_ms) == _key(plan)]
        _rebuild(writer, row, parent_id, plan, report, progress, replaced=[*alike, *unfinished])
        unfinished = []
    return report


def _key(plan: _Plan) -> tuple[str, str, int]:
    return plan.old.perceiver, plan.settings_hash, plan.old.clip_ms


def _plan(old: PassRow, row: SourceRow, settings: Settings, calls: Calls, embedder: str, writer: Writer) -> _Plan:
    chosen = _as_perceived(settings, old.perceiver)
    models = Models(chosen, calls, opener=OnDisk)
    merges = merging(chosen, row.kind)
    described, way = "", _as_it_is
    if chosen.perceives_with_model:
        handles, summaries = role_model(models, "handles"), role_model(models, "summaries")
        described = described_hash(handles, summaries)
        way = partial(describe, handles=handles, summaries=summaries)
    vectors = _Vectors(embedder_on_disk(models, embedder), writer, old.pass_id)
    made = pass_hash(old.settings_hash, described, chosen, merges)
    return _Plan(old, made, Tools(chosen, models, vectors), merges, way)


def _as_perceived(settings: Settings, perceiver: str) -> Settings:
    """The settings with the perceiver of a pass: what is made of its observations does not depend on today's."""
    if settings.perceives_with_model and str(parse_model_name(settings.model_of("perceive"))) == perceiver:
        return settings
    return settings.model_copy(update={"perceiver": perceiver})


def _as_it_is(perceived: Perceived) -> Perceived:
    return perceived


def _rebuild(
    writer: Writer,
    row: SourceRow,
    parent_id: int,
    plan: _Plan,
    report: SourceReport,
    progress: Callable[[int], None],
    replaced: Sequence[PassRow],
) -> None:
    old = plan.old
    with database.reading(writer.directory) as snapshot:
        order = snapshot.written_order(old.pass_id)
        tracks = snapshot.chains.tracks(row.scope_id)
    if not order:
        return
    current = PassRow(
        writer.new_id("passes"), row.source_id, old.perceiver, plan.settings_hash, old.clip_ms, "rebuilding"
    )
    target = Target(row, current, [], parent_id, {}, set(), Batch(passes=[current]), tracks)
    pipeline = Pipeline(writer, target, report, plan.tools, plan.merges)
    at_once = plan.tools.settings.perceives_with_model or plan.merges
    failed = report.clips_failed
    with interrupt.held():
        for clip, told in _stored(writer, old, order):
            if interrupt.asked():
                break
            draft = _draft(clip, told, target, plan, writer, at_once)
            failed += clip.state == "failed"
            pipeline.take(draft, at_once=plan.merges)
            if report.clips_failed > failed:
                raise ProviderError(f"{report.warnings[-1]} Nothing was changed; run amr ingest again to mend it.")
            progress(clip.t_end_ms)
        pipeline.flush()
    interrupt.check()
    finish_pass(writer, row, current, replaced)


def _stored(writer: Writer, old: PassRow, order: Sequence[int]) -> Iterator[tuple[ClipRow, ObservationRow | None]]:
    """The clips of a pass with what was observed in each; the memory is open only while some are fetched."""
    for first in range(0, len(order), _CLIPS_AT_ONCE):
        with database.reading(writer.directory) as snapshot:
            found = snapshot.observed(old.pass_id, order[first : first + _CLIPS_AT_ONCE])
        yield from found


def _draft(
    row: ClipRow, told: ObservationRow | None, target: Target, plan: _Plan, writer: Writer, at_once: bool
) -> Draft:
    """The draft of a clip as it is stored; one that failed has failed still."""
    clip = Clip(row.clip_index, row.t_start_ms, row.t_end_ms, uri=row.uri)
    place = target.place(clip)
    if row.state == "failed" or told is None or told.analysis is None:
        return Draft(clip, place, error=row.error, raw=told.raw if told else None)
    perceived = Perceived(ClipAnalysis.model_validate_json(told.analysis))
    if told.prompt_hash is not None:  # a model was asked
        paid = Perceived(perceived.analysis, told.raw, told.prompt_hash, told.model, told.cost_usd)
        return Drafter(lambda _: plan.describe(paid), plan.tools.embedder, writer.directory, at_once).draft(clip, place)
    return Drafter(lambda _: perceived, plan.tools.embedder, writer.directory, at_once).draft(clip, place)


class _Vectors:
    """The embedder of a rebuild: a text whose vector can be had in no other way may have it in the pass before.

    Texts that were sent together with others at the time have no reply of their own on disk.
    """

    def __init__(self, embedder: Embedder, writer: Writer, pass_id: int) -> None:
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        self._embedder = embedder
        self._directory = writer.directory
        self._pass_id = pass_id
        self._nodes: dict[bytes, int] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Rows [n, dimensions]. Raises NotOnDisk."""
        try:
            return self._embedder.embed(texts)
        except NotOnDisk:
            self._nodes = self._nodes or self._by_text()
            nodes = [self._nodes.get(_digest(text)) for text in texts]
            if None in nodes:
                raise
        wanted = np.asarray(nodes, np.int64)
        with database.reading(self._directory) as snapshot:
            ids, rows = snapshot.vectors(np.unique(wanted))
        return rows[np.searchsorted(ids, wanted)]

    def _by_text(self) -> dict[bytes, int]:
        """The node of the pass for each text that was embedded."""
        with database.reading(self._directory) as snapshot:
            ids = snapshot.event_ids(self._pass_id)
        known: dict[bytes, int] = {}
        for first in range(0, len(ids), _NODES_AT_ONCE):
            with database.reading(self._directory) as snapshot:
                nodes = snapshot.nodes(ids[first : first + _NODES_AT_ONCE])
            for node in nodes.values():
                known |= {_digest(embedded_text(node, fields)): node.node_id for fields in (False, True)}
        return known


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()
