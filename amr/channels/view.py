"""What a channel may look at while it links: the events committed so far and those about to be."""

from __future__ import annotations

from pathlib import Path

from amr.records import Node
from amr.store import database

Place = tuple[int, int]
"""Where an event stands in its source: its start in milliseconds, and its clip."""


def place_of(node: Node) -> Place:
    """The place of an event; within a clip, events of one start keep the order of their ids."""
    return node.t_start_ms or 0, node.clip_first or 0


class View:
    """Committed and pending events of the memory. Costs nothing per event as long as time moves forward."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._last: dict[tuple[int, int], Node | None] = {}
        self._retired: set[int] = set()

    def last_event(self, source_id: int, pass_id: int) -> Node | None:
        """The event of a pass that starts last."""
        key = (source_id, pass_id)
        if key not in self._last:
            with database.reading(self._directory) as snapshot:
                self._last[key] = next(iter(snapshot.last_events(source_id, pass_id, 1)), None)
        return self._last[key]

    def around(self, first: Node, last: Node) -> list[Node]:
        """The known events of the same pass from just before `first` to just after `last`, in time order."""
        source_id, pass_id = _pass_of(first)
        newest = self.last_event(source_id, pass_id)
        if newest is None:
            return []
        if place_of(newest) < place_of(first):
            return [newest]
        with database.reading(self._directory) as snapshot:
            found = snapshot.around(source_id, pass_id, place_of(first), place_of(last))
        return [node for node in found if node.node_id not in self._retired]

    def standing_edges(self, channel: str, pairs: list[tuple[int, int]]) -> dict[tuple[int, int], int]:
        """The ids of the committed edges of a channel between these pairs of nodes."""
        if not pairs:
            return {}
        with database.reading(self._directory) as snapshot:
            return snapshot.edge_ids(channel, pairs)

    def retire(self, events: list[Node]) -> None:
        """Leaves out events that are about to be retired, each for one that stands at its place."""
        self._retired.update(event.node_id for event in events)

    def add(self, events: list[Node]) -> None:
        """Takes events that were linked into the view; they are in time order and of one pass."""
        if not events:
            return
        key = _pass_of(events[-1])
        newest = self.last_event(*key)
        if newest is None or place_of(newest) <= place_of(events[-1]):
            self._last[key] = events[-1]


def _pass_of(node: Node) -> tuple[int, int]:
    if node.source_id is None or node.pass_id is None:
        raise ValueError("an event belongs to a pass over a source")
    return node.source_id, node.pass_id
