"""From the lines of a run's questions to figures: what each system got right, metric by metric.

A line has `systems`, and of each system `hits`: metric → true or false, or a fraction between 0 and 1. `recall` are
hits too, which count under `metric` and under `metric.group` for each of the line's `groups`, the parts of the
benchmark that the question belongs to.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from amr.evals.intervals import of_mean, wilson

Hit = bool | float


@dataclass(frozen=True)
class Figure:
    """A metric's value over `n` questions; `low` and `high` are its 95 % interval, None for what has none."""

    value: float
    n: int
    low: float | None = None
    high: float | None = None


@dataclass
class Hits:
    """What one system's reply to one question is worth, as its line keeps it."""

    found: dict[str, Hit] = field(default_factory=dict)

    def add(self, measure: str, hit: Hit, variants: Iterable[str] = ()) -> None:
        """Notes a measure, and `measure.variant` for each of the variants: true or false, or a fraction."""
        for name in (measure, *(f"{measure}.{variant}" for variant in variants)):
            self.found[name] = hit


@dataclass
class Tally:
    """All that one system did, in the order in which the metrics first came up.

    `seconds` are by what was timed, "" for a reply as a whole. `failed` has an entry for each question, and
    is told where a line speaks of it.
    """

    hits: dict[str, list[Hit]] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    failed: list[bool] = field(default_factory=list)
    may_fail: bool = False

    def add(self, measure: str, hit: Hit, variants: Iterable[str] = ()) -> None:
        """Counts one question under a measure, and under `measure.variant` for each of the variants."""
        for name in (measure, *(f"{measure}.{variant}" for variant in variants)):
            self.hits.setdefault(name, []).append(hit)

    def add_entry(self, entry: Mapping[str, Any], groups: Iterable[str]) -> None:
        """Counts what a line has of the system."""
        told = list(groups)
        for measure, hit in (entry.get("recall") or {}).items():
            self.add(measure, hit, told)
        for measure, hit in (entry.get("hits") or {}).items():
            self.add(measure, hit)
        seconds = entry.get("seconds")
        for name, value in (seconds if isinstance(seconds, Mapping) else {"": seconds}).items():
            if value is not None:
                self.seconds.setdefault(name, []).append(value)
        self.may_fail |= "failed" in entry
        self.failed.append(bool(entry.get("failed")))

    def figures(self) -> dict[str, Figure]:
        """The proportions and means, then what failed, and the latencies in milliseconds."""
        found = {name: figure_of(hits) for name, hits in self.hits.items()}
        if self.may_fail:
            found["failed"] = Figure(sum(self.failed), len(self.failed))
        for name, seconds in self.seconds.items():
            ordered, part = sorted(seconds), f".{name}" if name else ""
            late = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
            found[f"latency_ms.p50{part}"] = Figure(1000 * median(ordered), len(ordered))
            found[f"latency_ms.p95{part}"] = Figure(1000 * late, len(ordered))
        return found


def figure_of(hits: list[Hit]) -> Figure:
    """The share of right ones with Wilson's interval, or the mean of fractions with that of a mean."""
    right = [hit for hit in hits if isinstance(hit, bool)]
    if len(right) == len(hits):
        low, high = wilson(sum(right), len(hits))
        return Figure(sum(right) / len(hits), len(hits), low, high)
    low, high = of_mean(hits)
    return Figure(math.fsum(hits) / len(hits), len(hits), low, high)


def tallies_of(lines: Iterable[Mapping[str, Any]]) -> dict[str, Tally]:
    """What the lines of a run come to, by system."""
    tallies: dict[str, Tally] = {}
    for line in lines:
        for system, entry in line["systems"].items():
            tallies.setdefault(system, Tally()).add_entry(entry, line.get("groups") or ())
    return tallies


def figures_of(lines: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Figure]]:
    """The figures of every system, from the lines of a run alone."""
    return {system: tally.figures() for system, tally in tallies_of(lines).items()}
