"""Where clips begin and end on a source's clock, in integer milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Span:
    """The place of one clip: its index and the time from `start_ms` up to, not including, `end_ms`."""

    index: int
    start_ms: int
    end_ms: int


def grid_ms(clip_seconds: float) -> int:
    """The length of a grid cell in whole milliseconds, at least one."""
    return max(1, round(clip_seconds * 1000))


def grid(clip_seconds: float) -> Iterator[Span]:
    """Cells of `clip_seconds` from zero on, without end."""
    cell = grid_ms(clip_seconds)
    return (Span(index, index * cell, (index + 1) * cell) for index in count())


def seconds_text(milliseconds: int) -> str:
    """A time for a sentence: `13.0 s`."""
    return f"{milliseconds / 1000:.1f} s"
