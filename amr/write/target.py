"""Where a source is written: its row, the pass over it, what of it is there already."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from blake3 import blake3

from amr.config import Settings
from amr.errors import UsageError
from amr.media.source import Source
from amr.perceive.perceiver import Perceiver
from amr.records import Clip
from amr.store import database
from amr.store.rows import Batch, PassRow, SourceRow
from amr.store.snapshot import Snapshot
from amr.store.writer import Writer
from amr.write.events import ClipPlace, world_node


@dataclass
class Target:
    """Where a source is written: its row, the pass, and the node that contains its events."""

    row: SourceRow
    current: PassRow
    others: list[PassRow]
    parent_id: int
    done: dict[int, tuple[int, int]]
    failed: set[int]
    opening: Batch

    @property
    def staged(self) -> bool:
        """Whether nothing of this pass is seen until it is finished."""
        return self.current.state == "staged"

    def place(self, clip: Clip) -> ClipPlace:
        """Where a clip of the source belongs."""
        return ClipPlace(
            scope_id=self.row.scope_id,
            source_id=self.row.source_id,
            source_key=self.row.key,
            pass_id=self.current.pass_id,
            parent_id=self.parent_id,
            clip_index=clip.index,
            start_ms=clip.start_ms,
            end_ms=clip.end_ms,
            origin_wall_ms=self.row.origin_wall_ms,
        )


def open_target(
    writer: Writer, source: Source, perceiver: Perceiver, settings: Settings, scope: str, merging: bool
) -> Target:
    """Finds the source in the memory, or makes what it needs; nothing is written yet."""
    opening = Batch()
    same = _pass_key(source, perceiver, settings, merging)
    with database.reading(writer.directory) as snapshot:
        row, passes, current = _known(snapshot, source, scope, same)
        clips = {} if current is None else snapshot.clips(current.source_id, current.pass_id)
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
        current = PassRow(writer.new_id("passes"), row.source_id, *same, state)
        opening.passes.append(current)
    done = {index: (start, end) for index, (state, _, start, end) in clips.items() if state == "done"}
    failed = {index for index, (state, *_) in clips.items() if state == "failed"}
    others = [p for p in passes if p.pass_id != current.pass_id]
    return Target(row, current, others, source_node, done, failed, opening)


def clips_done(
    directory: Path, source: Source, perceiver: Perceiver, settings: Settings, scope: str, merging: bool
) -> set[int]:
    """The indexes of the clips that `open_target` would find done; a memory that is not there has none."""
    if not database.database_file(directory).exists():
        return set()
    with database.reading(directory) as snapshot:
        row, _, current = _known(snapshot, source, scope, _pass_key(source, perceiver, settings, merging))
        if row is not None and source.kind == "folder":
            source.known = {Path(uri).name: index for uri, index in snapshot.clip_files(row.source_id).items()}
        clips = {} if current is None else snapshot.clips(current.source_id, current.pass_id)
    return {index for index, (state, *_) in clips.items() if state == "done"}


def _pass_key(source: Source, perceiver: Perceiver, settings: Settings, merging: bool) -> tuple[str, str, int]:
    """The perceiver, all that changes what it writes, and the length of a clip in milliseconds (0: as they come)."""
    clip_ms = round(settings.clip_seconds * 1000) if source.kind in ("video", "captions") else 0
    merged = f"|{settings.merge.model_dump_json()}|{settings.model_of('merge')}" if merging else ""
    seen_by = f"{perceiver.settings_hash(source.has_captions)}|{source.captions_key}{merged}"
    return perceiver.name, blake3(seen_by.encode()).hexdigest(), clip_ms


def _known(
    snapshot: Snapshot, source: Source, scope: str, same: tuple[str, str, int]
) -> tuple[SourceRow | None, list[PassRow], PassRow | None]:
    """What the memory has of a source: its row, its passes, and the one that is to be continued."""
    row = next((known for known in snapshot.sources(scope) if known.key == source.key), None)
    passes = [] if row is None else [p for p in snapshot.passes(row.source_id) if p.state != "replaced"]
    current = next((p for p in passes if (p.perceiver, p.settings_hash, p.clip_ms) == same), None)
    return row, passes, current


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


def finish(
    writer: Writer, source: Source, target: Target, failed: bool, wrote: bool, keep_pass: bool, end_ms: int
) -> None:
    """Marks the source complete; a finished staged pass becomes live in place of the others."""
    if not (target.done or wrote):
        return
    row = target.row
    revealed = target.current if not failed and target.staged else None
    fresh = (source.uri, end_ms, not failed)
    if revealed is None and (row.uri, row.duration_ms, row.complete) == fresh:
        return
    row.uri, row.duration_ms, row.complete = fresh
    writer.finish_pass(row, revealed, target.others if revealed and not keep_pass else [])
