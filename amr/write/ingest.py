"""Streams a source into the memory: clip by clip, in time order, each clip whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from amr import interrupt
from amr.errors import ProviderError
from amr.media.source import TEXT_KINDS, Source
from amr.perceive.perceiver import Perceiver
from amr.records import Clip
from amr.store.writer import Writer
from amr.write.drafts import Draft, Drafter, drafted
from amr.write.merging import merging
from amr.write.pipeline import Pipeline, SourceReport, Tools
from amr.write.target import Target, mark_finished, open_target, reveal


def ingest_source(
    writer: Writer,
    source: Source,
    perceiver: Perceiver,
    tools: Tools,
    scope: str,
    keep_pass: bool,
    progress: Callable[[int], None],
) -> SourceReport:
    """Writes every clip of `source` that the memory does not hold yet.

    `progress` is told the end, in milliseconds, of each clip that is done. A clip that cannot be read or perceived
    is recorded as failed and tried again by the next command. A Ctrl-C lets the clips in flight finish. Raises
    ProviderError, with all clips before it written, when no further clip can be perceived.
    """
    settings = tools.settings
    merges = merging(settings, source.kind)
    target = open_target(writer, source, perceiver, settings, scope, merges)
    report = SourceReport(target.row.source_id, source.name, clips_skipped=len(target.done))
    report.warnings += source.warnings
    # What costs money is written as soon as it is there. A folder may grow, and each of its clips is to be seen at
    # once. The rest is a backlog, written in groups.
    text_only = source.kind in TEXT_KINDS
    paid = (settings.perceives_with_model and source.kind != "events") or (settings.speech.asks_model and not text_only)
    alone = paid or merges or source.kind == "folder"
    drafter = Drafter(perceiver.perceive, tools.embedder, writer.directory, at_once=paid or merges)
    pipeline = Pipeline(writer, target, report, tools, merges)
    ends = [end for _, end in target.done.values()]
    jobs = settings.jobs if paid or not text_only else 1
    clips = _until_interrupted(source, target)

    def make(clip: Clip) -> Draft:
        return drafter.draft(clip, target.place(clip))

    with interrupt.held():
        try:
            for draft in drafted(clips, make, jobs, tools.models.stop, pipeline.foresee if merges else None):
                pipeline.take(draft, at_once=alone)
                ends.append(draft.clip.end_ms)
                progress(draft.clip.end_ms)
        except ProviderError:
            pipeline.flush()
            raise
        # Not in a finally: another error can strike while a clip is taken, which must not be committed by half.
        whole, failed = bool(ends) and not interrupt.asked(), report.clips_failed > 0
        changed = whole and mark_finished(source, target, failed, max(ends))
        if whole and target.staged and not failed:
            pipeline.flush()
            reveal(writer, target, keep_pass)
        else:
            pipeline.flush(finished=changed)
    interrupt.check()
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
