"""Measures text of the size of a life: a week of captions in one file, with all edges and indexes, by `amr ingest`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from bench_tools import ROOT, Row, amr, done

from amr.memory import Memory

DATA = Path(os.environ.get("AMR_TEST_DATA", ROOT.parent / "shared" / "data"))
"""Where the public sets lie that the tests use too; a part of the table is left out without them."""

EVENTS_PER_SECOND = 2000
_WEEK = DATA / "egolife" / "A1_JAKE_sync_clips.jsonl.gz"


def week_rows() -> list[Row]:
    """EgoLife's week of captions and transcripts of one wearer."""
    if not _WEEK.exists():
        return [Row("week of captions", 0.0, "/s", note=f"skipped: there is no {_WEEK}")]
    with tempfile.TemporaryDirectory(prefix="amr-bench-") as folder:
        return [ingest_row("week of captions", _WEEK, Path(folder))]


def ingest_row(name: str, path: Path, memory: Path) -> Row:
    """Has a process of its own write a file into a new memory."""
    cost = done(amr("ingest", path, "--memory", memory, "--quiet"))
    status = Memory(memory).status()
    events, edges = status.nodes["event"], sum(status.edges.values())
    note = f"{events} events, {edges} edges, {cost.wall:.0f} s, {cost.cpu:.0f} s of processor time, {cost.peak:.0f} MiB"
    return Row(f"{name}, events", events / cost.wall, "/s", EVENTS_PER_SECOND, note=note)
