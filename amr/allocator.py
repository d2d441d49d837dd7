"""Keeps the process small while it runs for hours: freed memory goes back to the system. And quick while it writes."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_BYTES = 1024 * 1024


def give_memory_back() -> None:
    """Fixes the C library's thresholds, which otherwise grow with the largest frame freed and let the heap creep up.

    Does nothing where the C library is not glibc. For the whole process: meant for commands, not for libraries.
    """
    import ctypes

    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return
    mallopt(_MMAP_THRESHOLD, _BYTES)
    mallopt(_TRIM_THRESHOLD, _BYTES)
    mallopt(_ARENA_MAX, 2)


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Has Python look for unreachable cycles a hundred times less often within the block.

    Writing makes many objects that live on and hardly a cycle: the looking is a sixth of its time.
    """
    before = gc.get_threshold()
    gc.set_threshold(100_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)
