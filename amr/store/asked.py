"""Calls to models made by commands that only read: noted in a file, until the next writer enters them in the ledger.

A command that asks holds no writer, and no lock while a model is called. What it paid for is on disk already, under
`calls/`; this file says what for, so that `amr status --cost` leaves nothing out.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from amr.records import CallRow


def _file(directory: Path) -> Path:
    return directory / "calls" / "asked.jsonl"


def note(directory: Path, rows: Iterable[CallRow]) -> None:
    """Appends rows of the ledger; on disk when this returns. Any number of commands may do so at once."""
    lines = "".join("\n" + json.dumps(asdict(row)) for row in rows)  # a line that a kill cut off spoils no other
    if not lines:
        return
    _file(directory).parent.mkdir(exist_ok=True)
    with _file(directory).open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(lines)
        file.flush()
        os.fsync(file.fileno())


def noted(directory: Path) -> list[CallRow]:
    """The rows not yet in the ledger, each paid call once. Takes no lock, so that no writer waits for it."""
    try:
        lines = _file(directory).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    return _rows(lines)


def take_up(directory: Path, enter: Callable[[list[CallRow]], None]) -> None:
    """Hands all rows to `enter`, and forgets them once it has returned."""
    try:
        file = _file(directory).open("r+", encoding="utf-8")
    except FileNotFoundError:
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        rows = _rows(file.read().splitlines())
        if rows:
            enter(rows)
            file.truncate(0)


def _rows(lines: Iterable[str]) -> list[CallRow]:
    """The rows in some lines; a line cut off by a kill counts for nothing, its reply is found again by its key."""
    paid: set[tuple[str, int]] = set()
    rows: list[CallRow] = []
    for line in lines:
        with suppress(ValueError, TypeError):
            row = CallRow(**json.loads(line))
            if not row.cached:
                if (row.key, row.wall_ms) in paid:
                    continue
                paid.add((row.key, row.wall_ms))
            rows.append(row)
    return rows
