"""What a channel is asked when an event arrives, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amr.channels.chain import Seen
from amr.records import Node


@dataclass(frozen=True, slots=True)
class Arrival:
    """An event, and the latest event before it in each of its chains, by (role, handle), where there is one."""

    node: Node
    seen: Seen
    before: Mapping[tuple[str, str], Seen]

    def persons(self) -> list[tuple[str, Seen]]:
        """The persons of the event that were there before, and when they last were."""
        return [(handle, seen) for (role, handle), seen in self.before.items() if role == "person"]

    def gap_ms(self, earlier: Seen) -> int:
        """From the end of an earlier event to the start of this one; 0 when they overlap."""
        return max(0, self.seen.place[0] - earlier.end_ms)


@dataclass(frozen=True, slots=True)
class Link:
    """An edge to be written, from an earlier event to the one that arrives."""

    channel: str
    src: Seen
    payload: dict[str, Any]
