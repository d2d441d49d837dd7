"""Keeps the process small while it runs for hours: freed memory goes back to the system."""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_BYTES = 1024 * 1024


def give_memory_back() -> None:
    """Fixes the C library's thresholds, which otherwise grow with the largest frame freed and let the heap creep up.

    Does nothing where the C library is not glibc. For the whole process: meant for commands, not for libraries.
    """
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return
    mallopt(_MMAP_THRESHOLD, _BYTES)
    mallopt(_TRIM_THRESHOLD, _BYTES)
    mallopt(_ARENA_MAX, 2)
