"""Scales of events: each is scored together with the half minute and the three minutes of its source around it.

Only events stand in the index. How often a word is in a window is a sum over its events, so every window has a BM25
score with no index of its own. Windows of a scale last equally long, so none is discounted for its length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from amr.retrieve.scales import bm25, highest, rarity

if TYPE_CHECKING:
    from amr.store.rows import View
    from amr.store.snapshot import Snapshot

Ids = NDArray[np.int64]
Values = NDArray[np.float64]
Seconds = tuple[tuple[str, float], ...]
"""The scales by name, with how long their windows last."""


@dataclass(frozen=True)
class Timeline:
    """Visible events in order of source and time: `ids` [n] ascending, `places` [n] where each stands in that order.

    `order` [n] has at each place where its event stands in `ids`; `bounds` holds for each scale, of the window around
    the event at each place, its first place and the one after its last, both [n].
    """

    ids: Ids
    places: Ids
    order: Ids
    bounds: Mapping[str, tuple[Ids, Ids]]

    def of(self, some: Ids) -> Ids:
        """The places of some visible events."""
        return self.places[np.searchsorted(self.ids, some)]


def timeline(snapshot: Snapshot, view: View, visible: Ids, scales: Seconds) -> Timeline:
    """The visible events in order, made once for what a view sees."""
    seen = replace(view, asked_at=None, without=frozenset())
    return snapshot.derived(("timeline", seen, scales), lambda: _read(snapshot, view, visible, scales))


def _read(snapshot: Snapshot, view: View, visible: Ids, scales: Seconds) -> Timeline:
    source, at = snapshot.sources_of(visible, view), snapshot.moments(visible, view)
    order = np.lexsort((visible, at, source))
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    axis = _apart(source[order], at[order], max(lasts for _, lasts in scales))
    reaches = {name: round(lasts * 500) for name, lasts in scales}
    bounds = {
        name: (np.searchsorted(axis, axis - reach, "left"), np.searchsorted(axis, axis + reach, "right"))
        for name, reach in reaches.items()
    }
    return Timeline(visible, places, order, bounds)


def _apart(source: Ids, at: Ids, longest: float) -> Ids:
    """Moments in milliseconds on one axis [n], on which sources lie so far apart that no window reaches another."""
    if not len(at):
        return at
    gap = int(at.max() - at.min()) + round(longest * 1000) + 1
    ordinal = np.cumsum(np.diff(source, prepend=source[:1]) != 0)
    return np.asarray(at - at.min() + ordinal * gap)


class Windows:
    """The windows of a question: `held` are, for each of its words, the ids ascending of the visible events with it.

    `counts` [k] is what each word counts for beside the others.
    """

    def __init__(self, line: Timeline, held: Sequence[Ids], counts: Sequence[float]) -> None:
        self._line = line
        known = [(ids, worth) for ids, worth in zip(held, counts, strict=True) if len(ids)]
        having = np.array([len(ids) for ids, _ in known], np.float64)
        self._rare = rarity(having, len(line.ids)) * np.array([worth for _, worth in known])
        self._meant = np.zeros(len(line.ids), np.bool_)
        self._before = [self._counted(line.of(ids), worth >= 1) for ids, worth in known]

    def _counted(self, places: Ids, is_meant: bool) -> NDArray[np.int32]:
        """How many events have a word before each place, and in all [n + 1]."""
        having = np.zeros(len(self._line.ids) + 1, np.int32)
        having[places + 1] = 1
        self._meant[places] |= is_meant
        return np.cumsum(having, dtype=np.int32)

    def best(self, most: int) -> list[int]:
        """The events that have a word which counts in full, best first by their windows of all scales together.

        Of equals the one with the greatest id comes first.
        """
        places = np.flatnonzero(self._meant)
        worth = np.round(sum(self._shares(places).values(), np.zeros(len(places))), 6)
        if len(places) > most:
            best = np.flatnonzero(worth >= np.partition(worth, len(worth) - most)[len(worth) - most])
            places, worth = places[best], worth[best]
        ids = self._line.ids[self._line.order[places]]
        return [int(node_id) for node_id in ids[np.lexsort((-ids, -worth))[:most]]]

    def shares(self, some: Ids) -> dict[str, Values]:
        """What the window around each of some visible events [m] is worth, from 0 to 1, by scale.

        That is its BM25 score beside the highest there can be.
        """
        return self._shares(self._line.of(some))

    def _shares(self, places: Ids) -> dict[str, Values]:
        return {name: self._share(first[places], end[places]) for name, (first, end) in self._line.bounds.items()}

    def _share(self, first: Ids, end: Ids) -> Values:
        worth = np.zeros(len(first))
        for before, rare in zip(self._before, self._rare, strict=True):
            worth += rare * self._often[before[end] - before[first]]
        return np.round(worth / highest(self._rare), 6)

    @cached_property
    def _often(self) -> Values:
        """The BM25 score of a word of rarity 1 that a window has 0, 1, 2, … times."""
        most = max((int(before[-1]) for before in self._before), default=0)
        return bm25(np.arange(most + 1.0)[:, None], np.ones(most + 1), np.ones(1))[:, 0]
