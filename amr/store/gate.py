"""Three file locks that let many processes read a memory while one writes it.

DuckDB allows one process to write a file or many to read it, never both, so every open passes the gate. A
reader takes `gate.lock` shared for an instant and `data.lock` shared while the database is open; a writer
takes both exclusively, so that new readers queue behind a waiting writer and neither side starves.
`writer.lock` is held for a whole writing command. All are `flock` locks: a kill releases them.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from amr.errors import BadInput

WRITER_WAIT_SECONDS = 30.0
_POLL_SECONDS = 0.05


class MemoryBusy(BadInput):
    """Another command is writing the memory."""


@contextmanager
def _locked(path: Path, operation: int) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, operation)
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def reading(directory: Path) -> Iterator[None]:
    """Holds the memory open for reading; a waiting writer goes first."""
    with _locked(directory / "gate.lock", fcntl.LOCK_SH):
        data = os.open(directory / "data.lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(data, fcntl.LOCK_SH)
        except BaseException:
            os.close(data)
            raise
    try:
        yield
    finally:
        os.close(data)


@contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    """Holds the memory alone, after the readers that are inside have left."""
    with _locked(directory / "gate.lock", fcntl.LOCK_EX), _locked(directory / "data.lock", fcntl.LOCK_EX):
        yield


@contextmanager
def writing_command(directory: Path, command: str, wait_seconds: float | None = None) -> Iterator[None]:
    """Makes this process the memory's only writer for a whole command.

    Waits `wait_seconds` (default WRITER_WAIT_SECONDS) for another writer; raises MemoryBusy naming it.
    """
    limit = WRITER_WAIT_SECONDS if wait_seconds is None else wait_seconds
    descriptor = os.open(directory / "writer.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _wait_for(descriptor, directory, limit)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {command}\n".encode(), 0)
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, directory: Path, limit: float) -> None:
    deadline = time.monotonic() + limit
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise MemoryBusy(_busy(directory)) from None
            time.sleep(_POLL_SECONDS)


def _busy(directory: Path) -> str:
    pid, _, command = (directory / "writer.lock").read_text(errors="replace").strip().partition(" ")
    who = f"process {pid} ({command})" if pid else "another process"
    return f"The memory {directory} is being written by {who}; wait until it ends, or stop it."
