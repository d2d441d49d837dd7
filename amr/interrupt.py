"""Ctrl-C: the first one lets what is in flight finish where it must, the second one ends the process at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupted(BaseException):
    """Ctrl-C; not a KeyboardInterrupt, which the command line library would turn into exit code 1."""


_asked = threading.Event()
_held = [False]


def install() -> None:
    """Has Ctrl-C handled from here on; only the main thread may call this."""
    signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, frame: object) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _asked.set()
    if not _held[0]:
        raise Interrupted


def asked() -> bool:
    """Whether there has been a Ctrl-C."""
    return _asked.is_set()


def check() -> None:
    """Raises Interrupted when there has been a Ctrl-C."""
    if _asked.is_set():
        raise Interrupted


@contextmanager
def held(hold: bool = True) -> Iterator[None]:
    """Within the block a Ctrl-C raises nothing; `check` does. `held(False)` opens a gap within such a block."""
    before, _held[0] = _held[0], hold
    try:
        yield
    finally:
        _held[0] = before
