"""Verification: candidates in groups, each judged for how far it bears on the question; the rest is dropped.

AMR-Graph Part II §4. A group is what one walk reached from one anchor, or what happened within one stretch of time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from amr.config import VerifySettings
    from amr.retrieve.relevance import Candidate

Grouping = Literal["path", "time"]


@dataclass
class Group:
    """Candidates that belong together, in order of time; `relevance` from 0 to 1, `dropped` says why it was."""

    candidates: list[Candidate]
    relevance: float = 0.0
    dropped: str = ""


Scorer = Callable[[Sequence[Group]], Sequence[float]]
"""The relevance, from 0 to 1, of each group."""


def by_evidence(groups: Sequence[Group]) -> list[float]:
    """The calibrated scorer: a group bears on the question as far as its best piece of evidence."""
    return [max(candidate.relevance for candidate in group.candidates) for group in groups]


def verify(found: Sequence[Candidate], settings: VerifySettings, score: Scorer = by_evidence) -> list[Group]:
    """The candidates, best first, in groups, those with the best first; some of them dropped."""
    groups = grouped(found, settings.group, round(settings.gap_seconds * 1000))
    relevances = score(groups) if groups else []
    floor = settings.least * max(relevances, default=0.0)
    for group, relevance in zip(groups, relevances, strict=True):
        group.relevance = relevance
        if relevance < floor:
            group.dropped = f"relevance below {settings.least:g} of the best"
    for group in [group for group in groups if not group.dropped][settings.groups :]:
        group.dropped = f"only {settings.groups} groups are kept"
    return groups


def grouped(found: Sequence[Candidate], how: Grouping, gap_ms: int) -> list[Group]:
    """Candidates, best first, in groups: by the anchor that led to them, or by time, parted by `gap_ms`."""
    groups = _by_path(found) if how == "path" else _by_time(found, gap_ms)
    place = {candidate.node.node_id: rank for rank, candidate in enumerate(found)}
    for group in groups:
        group.candidates.sort(key=lambda candidate: candidate.node.in_time)
    return sorted(groups, key=lambda group: min(place[candidate.node.node_id] for candidate in group.candidates))


def _by_path(found: Sequence[Candidate]) -> list[Group]:
    groups: dict[int, Group] = {}
    for candidate in found:
        entry = candidate.path[0].src if candidate.path else candidate.node.node_id
        groups.setdefault(entry, Group([])).candidates.append(candidate)
    return list(groups.values())


def _by_time(found: Sequence[Candidate], gap_ms: int) -> list[Group]:
    groups: list[Group] = []
    ordered = sorted(found, key=lambda candidate: (candidate.node.source_id or 0, candidate.node.moment_ms))
    for candidate in ordered:
        last = groups[-1].candidates[-1] if groups else None
        same = last is not None and last.node.source_id == candidate.node.source_id
        if last is None or not same or candidate.node.moment_ms - last.node.moment_ms > gap_ms:
            groups.append(Group([]))
        groups[-1].candidates.append(candidate)
    return groups
