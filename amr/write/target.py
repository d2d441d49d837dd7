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
from amr.store.chains import Track
from amr.store.rows import Batch, PassRow, SourceRow
from amr.store.snapshot import Snapshot
from amr.store.writer import Writer
from amr.write.commit import finish_pass
from amr.write.events import ClipPlace, world_node

_GROWING = ("folder", "clip_captions")
"""Sources of clip files, to which others may come, also between those that are there."""


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
    tracks: list[Track]
    """The passes of the scope that are stored."""

    @property
    def staged(self) -> bool:
        """Whether nothing of this pass is seen until it is finished."""
        return self.current.state in ("staged", "rebuilding")

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
        tracks = snapshot.chains.tracks(scope)
    if row is not None and source.kind == "folder":
        _require_same_folder(row, source)
    if row is not None and source.kind in _GROWING:
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
    return Target(row, current, others, source_node, done, failed, opening, tracks)


def clips_done(
    directory: Path, source: Source, perceiver: Perceiver, settings: Settings, scope: str, merging: bool
) -> set[int]:
    """The indexes of the clips that `open_target` would find done; a memory that is not there has none."""
    if not database.database_file(directory).exists():
        return set()
    with database.reading(directory) as snapshot:
        row, _, current = _known(snapshot, source, scope, _pass_key(source, perceiver, settings, merging))
        if row is not None and source.kind in _GROWING:
            source.known = {Path(uri).name: index for uri, index in snapshot.clip_files(row.source_id).items()}
        clips = {} if current is None else snapshot.clips(current.source_id, current.pass_id)
    return {index for index, (state, *_) in clips.items() if state == "done"}


def _pass_key(source: Source, perceiver: Perceiver, settings: Settings, merging: bool) -> tuple[str, str, int]:
    """The perceiver, all that changes what it writes, and the length of a clip in milliseconds (0: as they come)."""
    clip_ms = round(settings.clip_seconds * 1000) if source.kind in ("video", "captions") else 0
    seen, _, described = perceiver.settings_hash(source.has_captions).partition(".")
    # A model tells who speaks without the names of the wearer.
    worn = f"|{sorted(source.wearer)}" if source.wearer and not settings.perceives_with_model else ""
    observed = blake3(f"{seen}|{source.captions_key}{worn}".encode()).hexdigest()
    return perceiver.name, pass_hash(observed, described, settings, merging), clip_ms


def pass_hash(observed: str, described: str, settings: Settings, merging: bool) -> str:
    """The settings hash of a pass: what is observed, and after a dot what is made of it unless that is by rules alone.

    `observed` is such a hash itself, of which the part before the dot counts.
    """
    merged = f"|{settings.merge.model_dump_json()}|{settings.model_of('merge')}" if merging else ""
    made = blake3(f"{described}{merged}".encode()).hexdigest() if described or merged else ""
    return ".".join(part for part in (observed.partition(".")[0], made) if part)


def _known(
    snapshot: Snapshot, source: Source, scope: str, same: tuple[str, str, int]
) -> tuple[SourceRow | None, list[PassRow], PassRow | None]:
    """What the memory has of a source: its row, its passes, and the one that is to be continued."""
    row = next((known for known in snapshot.sources(scope) if known.key == source.key), None)
    passes = [] if row is None else [p for p in snapshot.passes(row.source_id) if p.state in ("live", "staged")]
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


def mark_finished(source: Source, target: Target, failed: bool, end_ms: int) -> bool:
    """Has the row of a source say how far it goes, and that it is complete unless a clip `failed`.

    Gives whether the row changed. It is still to be written.
    """
    row = target.row
    before = (row.uri, row.duration_ms, row.complete)
    row.uri, row.duration_ms, row.complete = source.uri, end_ms, not failed
    return before != (row.uri, row.duration_ms, row.complete)


def reveal(writer: Writer, target: Target, keep_pass: bool) -> None:
    """Makes a finished staged pass live in place of the others, with the row of its source as it is now."""
    finish_pass(writer, target.row, target.current, [] if keep_pass else target.others)
