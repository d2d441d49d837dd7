"""Plain search over the benchmark's own lines, to compare with: BM25, BM25 with recency, dense.

- `bm25`: tantivy, English stems, k1 1.2, b 0.75, one document per line.
- `bm25+recency`: the first 50 lines of `bm25`, ordered by 1 / (60 + rank) + 1 / (60 + rank by time, latest first).
- `dense`: cosine between the question's vector and the line's, by the memory's embedder.

What a question may not see is filtered out before ranking. A baseline answers with the words of its first line,
before them its time where the question asks for one, and says that it found something whenever it has a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amr.evals.asking import KEPT, Asked, Reply, System
from amr.retrieve.times import iso_time, show_moment
from amr.store import text

_POOL = 50
_CONSTANT = 60
_WHEN = re.compile(r"\b(?:when|what time)\b", re.IGNORECASE)

Embed = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True)
class Unit:
    """One line of a benchmark's data: its words and its times in milliseconds, on the wall clock where `dated`."""

    text: str
    start_ms: int
    end_ms: int
    source: str = ""
    ref: str = ""
    dated: bool = False


class Baselines:
    """The baselines over the lines of one benchmark. `directory` takes the text index."""

    def __init__(self, units: Sequence[Unit], directory: Path, embed: Embed) -> None:
        self.units = list(units)
        self._directory = directory
        self._embed = embed
        self._ends = np.array([unit.end_ms for unit in self.units], np.int64)
        self._sources = np.array([unit.source for unit in self.units])
        writer = text.TextWriter(directory)
        writer.add(enumerate(unit.text for unit in self.units))
        writer.commit(len(self.units))
        writer.close()
        self._vectors = embed([unit.text for unit in self.units])

    def systems(self) -> dict[str, System]:
        """The three baselines by name."""
        return {
            "bm25": lambda asked: self._reply(self.bm25(asked, KEPT), asked),
            "bm25+recency": lambda asked: self._reply(self.recent(asked, KEPT), asked),
            "dense": lambda asked: self._reply(self.dense(asked, KEPT), asked),
        }

    def bm25(self, asked: Asked, k: int) -> list[int]:
        """The best `k` lines by BM25, as places in `units`."""
        seen = self._seen(asked)
        return [place for place, _ in text.search(self._directory, asked.question, k, lambda ids: list(seen[ids]))]

    def recent(self, asked: Asked, k: int) -> list[int]:
        """The best `k` lines by BM25 and recency."""
        pool = self.bm25(asked, _POOL)
        latest = sorted(pool, key=lambda place: (-self.units[place].start_ms, place))
        late = {place: rank for rank, place in enumerate(latest, start=1)}
        scores = {place: 1 / (_CONSTANT + rank) + 1 / (_CONSTANT + late[place]) for rank, place in enumerate(pool, 1)}
        return sorted(pool, key=lambda place: (-scores[place], late[place]))[:k]

    def dense(self, asked: Asked, k: int) -> list[int]:
        """The best `k` lines by cosine."""
        places = np.flatnonzero(self._seen(asked))
        cosines = np.round(self._vectors[places] @ self._embed([asked.question])[0], 4)
        order = np.lexsort((places, -cosines))[:k]
        return [int(places[i]) for i in order]

    def _seen(self, asked: Asked) -> NDArray[np.bool_]:
        seen = np.ones(len(self.units), np.bool_)
        if asked.as_of_ms is not None:
            seen &= self._ends <= asked.as_of_ms
        if asked.source is not None:
            seen &= self._sources == asked.source
        return seen

    def _reply(self, places: Sequence[int], asked: Asked) -> Reply:
        return reply_of([self.units[place] for place in places], asked)


def reply_of(units: Sequence[Unit], asked: Asked) -> dict[str, Any]:
    """Lines, best first, as a reply that answers with the first, and with its time where a time is asked for."""
    answer = units[0].text if units else ""
    if units and _WHEN.search(asked.question):
        answer = f"{show_moment(units[0].start_ms if units[0].dated else None, units[0].start_ms)}: {answer}"
    return {
        "answer": answer,
        "found": bool(units),
        "evidence": [
            {
                "source": unit.source,
                "ref": unit.ref,
                "t_start": unit.start_ms / 1000,
                "t_end": unit.end_ms / 1000,
                "time": iso_time(unit.start_ms) if unit.dated else None,
                "text": unit.text,
            }
            for unit in units
        ],
    }
