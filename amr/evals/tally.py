"""Counts of right and wrong by metric, and what they amount to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median

from amr.evals.intervals import wilson


@dataclass(frozen=True)
class Figure:
    """A metric's value over `n` questions; `low` and `high` are its 95 % interval, None for what is no proportion."""

    value: float
    n: int
    low: float | None = None
    high: float | None = None


@dataclass
class Tally:
    """What one system got right, metric by metric, in the order in which the metrics first came up."""

    hits: dict[str, list[bool]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)

    def add(self, measure: str, hit: bool, variants: Iterable[str] = ()) -> None:
        """Counts one question under a measure, and under `measure.variant` for each of the variants."""
        for name in (measure, *(f"{measure}.{variant}" for variant in variants)):
            self.hits.setdefault(name, []).append(hit)

    def figures(self) -> dict[str, Figure]:
        """The proportions, then the latencies in milliseconds."""
        found = {}
        for name, hits in self.hits.items():
            low, high = wilson(sum(hits), len(hits))
            found[name] = Figure(sum(hits) / len(hits), len(hits), low, high)
        if self.seconds:
            ordered = sorted(self.seconds)
            late = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
            found["latency_ms.p50"] = Figure(1000 * median(ordered), len(ordered))
            found["latency_ms.p95"] = Figure(1000 * late, len(ordered))
        return found
