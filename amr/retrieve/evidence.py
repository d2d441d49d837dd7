"""Nodes as evidence: source, clip, the source's own name for it, and the stored frame nearest its middle."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from amr.records import Evidence, Node

if TYPE_CHECKING:
    from amr.store.snapshot import Snapshot


def evidence_of(
    snapshot: Snapshot,
    directory: Path,
    nodes: Sequence[Node],
    marks: Sequence[tuple[float, float]] | None = None,
) -> list[Evidence]:
    """The nodes as evidence, in the order given; `marks` are their (score, relevance), 0 without."""
    rows = [row for scope in sorted({node.scope_id for node in nodes}) for row in snapshot.sources(scope)]
    names = {row.source_id: row.name for row in rows}
    chats = {row.source_id for row in rows if row.kind == "chat"}

    wanted: dict[tuple[int, int], list[int]] = {}
    for node in nodes:
        if node.source_id is not None and node.clip_first is not None:
            wanted.setdefault((node.source_id, node.pass_id or 0), []).append(node.clip_first)
    files = {at: snapshot.clip_uris(*at, indexes) for at, indexes in wanted.items()}

    @cache
    def frames(source_id: int) -> dict[int, list[int]]:
        return _frames(directory, source_id)

    found = []
    for number, node in enumerate(nodes):
        score, relevance = marks[number] if marks else (0.0, 0.0)
        clip, ref, frame = "", None, None
        if node.source_id is not None and node.clip_first is not None:
            clip = f"{node.source_id}:{node.clip_first}"
            own = node.payload.get("ref")
            file = files[node.source_id, node.pass_id or 0].get(node.clip_first, "")
            # The address of a session is its name and the hash of its content.
            ref = own or (file.rpartition("#")[0] if node.source_id in chats else file) or None
            frame = _nearest(directory, node, frames(node.source_id))
        source = names.get(node.source_id, "") if node.source_id is not None else ""
        found.append(Evidence(node, source, clip, ref, round(score, 6), round(relevance, 4), frame))
    return found


def _frames(directory: Path, source_id: int) -> dict[int, list[int]]:
    """The times in milliseconds of the stored frames of each clip of a source."""
    times: dict[int, list[int]] = {}
    folder = directory / "frames" / str(source_id)
    for file in folder.glob("*_*.jpg") if folder.is_dir() else ():
        clip, _, moment = file.stem.partition("_")
        if clip.isdigit() and moment.lstrip("-").isdigit():
            times.setdefault(int(clip), []).append(int(moment))
    return times


def _nearest(directory: Path, node: Node, frames: dict[int, list[int]]) -> str | None:
    clips = range(node.clip_first or 0, (node.clip_last if node.clip_last is not None else node.clip_first or 0) + 1)
    middle = ((node.t_start_ms or 0) + (node.t_end_ms or 0)) / 2
    near = min(((abs(ms - middle), ms, clip) for clip in clips for ms in frames.get(clip, ())), default=None)
    if near is None:
        return None
    return str(directory / "frames" / str(node.source_id) / f"{near[2]}_{near[1]}.jpg")
