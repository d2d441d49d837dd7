"""Measures how long the commands that people wait for take, from the shell."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from bench_store import write_events
from bench_tools import Row, amr, done

_RUNS = 11


def command_rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        events, memory = Path(folder) / "events.jsonl", Path(folder) / "memory"
        write_events(events, 200)
        done(amr("ingest", events, "--memory", memory, "--quiet"))
        return [
            _row("amr --help", 0.25, "--help"),
            _row("amr ask, 1,000 events", 0.6, "ask", "where is the phone", "--memory", memory),
        ]


def _row(name: str, ceiling: float, *arguments: object) -> Row:
    runs = [done(amr(*arguments)) for _ in range(_RUNS)]
    wall, cpu = statistics.median(r.wall for r in runs), statistics.median(r.cpu for r in runs)
    note = f"quickest {min(r.wall for r in runs):.2f} s, processor time {cpu:.2f} s"
    return Row(name, wall, "s", ceiling, True, note)
