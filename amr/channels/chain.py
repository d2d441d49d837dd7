"""Chains as channels see them: events in order of time, and which of them was the latest before another, when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

Place = tuple[int, str, int, int]
"""Where an event stands among others of one clock: start in milliseconds, track, clip, id within the clip."""


class Chain(NamedTuple):
    """The events of a role and handle. `clock` is a scope, whose sources with wall clock share one, or a pass."""

    clock: str | int
    role: str
    handle: str


@dataclass(frozen=True, slots=True)
class Seen:
    """An event as those after it know it. Times in milliseconds on its clock; `until` is when it was retired."""

    node_id: int
    hash: str
    place: Place
    end_ms: int
    learnt_at: int
    modality: str
    until: int | None = None

    @property
    def start_ms(self) -> int:
        """When it began."""
        return self.place[0]

    def stands_at(self, moment: int) -> bool:
        """Whether the memory had learnt of it, and had not retired it, by then."""
        return self.learnt_at <= moment and (self.until is None or self.until > moment)


Steps = list[tuple[int, "Seen | None"]]
"""The latest event before another, from each of some moments on."""


def steps(chain: Sequence[Seen], count: int, since: int) -> Steps:
    """Which of the first `count` events of a chain was known as the latest, from `since` on.

    Events of overlapping clips are not learnt in the order in which they begin.
    """
    if count and chain[count - 1].learnt_at <= since and chain[count - 1].until is None:
        return [(since, chain[count - 1])]
    near: list[Seen] = []
    for seen in reversed(chain[:count]):
        near.append(seen)
        if seen.learnt_at <= since and seen.until is None:
            break
    moments = {since}
    for seen in near:
        moments |= {at for at in (seen.learnt_at, seen.until) if at is not None and at > since}
    found: Steps = []
    for moment in sorted(moments):
        latest = next((seen for seen in near if seen.stands_at(moment)), None)
        if not found or latest is not found[-1][1]:
            found.append((moment, latest))
    return found


class Tail:
    """The end of a chain: the last event, and those before it that were known when it was not."""

    __slots__ = ("events",)

    def __init__(self) -> None:
        self.events: list[Seen] = []

    def push(self, seen: Seen) -> None:
        """Adds the event that is now the last."""
        events = self.events
        while events and events[-1].learnt_at >= seen.learnt_at:
            events.pop()
        events.append(seen)
        # What was known when an event began is known at every later one.
        while len(events) > 1 and events[1].learnt_at <= seen.place[0]:
            events.pop(0)
