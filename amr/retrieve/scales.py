"""Scales: leaves in a row, and the windows and sessions that contain them, scored from the leaves alone.

Only leaves (turns, events) stand in the indexes. How often a word occurs in a window, how long the window is and which
way its vector points are sums over its leaves, so every window has a BM25 score and a cosine with no index of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Values = NDArray[np.float64]

_K1, _B = 1.2, 0.75
"""The constants of BM25, as tantivy has them."""

Reach = tuple[int, int]
"""How many leaves before and after one a window takes in; it never leaves the session."""


@dataclass(frozen=True)
class Line:
    """Leaves [n] in order: `group` [n] is the session of each, from 0 up without gaps, `lengths` [n] how long."""

    group: Ids
    lengths: Values

    @cached_property
    def starts(self) -> Ids:
        """The first leaf of each session [g]."""
        return np.searchsorted(self.group, np.arange(self.groups))

    @property
    def groups(self) -> int:
        """How many sessions there are."""
        return int(self.group[-1]) + 1 if len(self.group) else 0

    @cached_property
    def ordinals(self) -> Ids:
        """The place of each leaf in its session [n], from 0."""
        return np.arange(len(self.group)) - self.starts[self.group]

    @cached_property
    def ends(self) -> Ids:
        """The leaf after the last of each session [g]."""
        return np.append(self.starts[1:], len(self.group))

    @cached_property
    def session_lengths(self) -> Values:
        """How long each session is [g]."""
        return self.totals(self.lengths)

    @cached_property
    def _windows(self) -> dict[Reach, tuple[Ids, Ids, Values]]:
        return {}

    def window(self, reach: Reach) -> tuple[Ids, Ids, Values]:
        """Of the window around each leaf [n]: its first leaf, the leaf after its last, and its length."""
        if reach not in self._windows:
            here = np.arange(len(self.group))
            first = np.maximum(here - reach[0], self.starts[self.group])
            end = np.minimum(here + reach[1] + 1, self.ends[self.group])
            sums = _running(self.lengths)
            self._windows[reach] = first, end, sums[end] - sums[first]
        return self._windows[reach]

    def around(self, values: Values, reach: Reach) -> Values:
        """The sums of values [n] or [n, k] over the window around each leaf."""
        first, end, _ = self.window(reach)
        sums = _running(values)
        return np.asarray(sums[end] - sums[first])

    def totals(self, values: Values) -> Values:
        """The sums of values [n] or [n, k] over each session."""
        return np.add.reduceat(values, self.starts, axis=0) if self.groups else values[:0]

    def peaks(self, values: Values) -> Values:
        """The greatest of values [n] or [n, k] in each session."""
        return np.maximum.reduceat(values, self.starts, axis=0) if self.groups else values[:0]

    def before(self, values: Values) -> Values:
        """What stands at the leaf before each, in the same session; 0 at the first."""
        return self._shifted(values, 1)

    def after(self, values: Values) -> Values:
        """What stands at the leaf after each, in the same session; 0 at the last."""
        return self._shifted(values, -1)

    def _shifted(self, values: Values, by: int) -> Values:
        moved = np.roll(values, by, axis=0)
        moved[self.starts if by > 0 else self.ends - 1] = 0
        return moved


def _running(values: Values) -> Values:
    """The sums of the first 0, 1, 2, … values; rounded, so that a window without a word has exactly none of it."""
    sums = np.zeros((len(values) + 1, *values.shape[1:]))
    np.cumsum(values, axis=0, out=sums[1:])
    return np.asarray(np.round(sums, 6))


def rarity(having: Values, total: int) -> Values:
    """The inverse document frequency of BM25 of words that so many [k] of `total` leaves or sessions have."""
    return np.asarray(np.log1p((total - having + 0.5) / (having + 0.5)))


def bm25(counts: Values, lengths: Values, rare: Values) -> Values:
    """The BM25 score [n, k] of each word in each text: `counts` [n, k], `lengths` [n], `rare` [k]."""
    return np.asarray(counts * (_K1 + 1) / (counts + norms(lengths)[:, None]) * rare)


def norms(lengths: Values) -> Values:
    """How many times a word must be in each text [n] to be worth half of what BM25 has for it, by the `lengths` [n]."""
    mean = float(lengths.mean()) if len(lengths) else 1.0
    return np.asarray(_K1 * (1 - _B + _B * lengths / (mean or 1.0)))


def highest(rare: Values) -> float:
    """What no BM25 score reaches of a text that has words of this rarity [k] again and again; never 0."""
    return max((_K1 + 1) * float(rare.sum()), 1e-9)


class Directions:
    """The vectors of leaves [n, d], and what their windows' cosines with a question need that no question changes."""

    def __init__(self, line: Line, vectors: NDArray[np.float32]) -> None:
        self._line, self._vectors = line, vectors
        self._mean = vectors.mean(axis=0, dtype=np.float64) if len(vectors) else np.zeros(vectors.shape[1])
        self._apart = _lengths(vectors - self._mean)
        sums = line.totals(vectors.astype(np.float64))
        self._sessions = _lengths(sums)
        self._sessions_apart = _lengths(sums / self._sizes[:, None] - self._mean)
        self._windows: dict[Reach, Values] = {}

    @property
    def _sizes(self) -> Ids:
        """Of how many leaves each session is [g]."""
        return np.asarray(self._line.ends - self._line.starts)

    def leaves(self, question: NDArray[np.float32]) -> Values:
        """The cosine of each leaf with a question [d]."""
        # Without BLAS, which wakes its threads for a product as small as this.
        return np.asarray(np.round(np.einsum("nd,d->n", self._vectors, question).astype(np.float64), 5))

    def windows(self, along: Values, reach: Reach) -> Values:
        """The cosine of the window around each leaf, from the cosines `along` of the leaves."""
        if reach not in self._windows:
            self._windows[reach] = self._window_lengths(reach)
        return np.asarray(self._line.around(along, reach) / self._windows[reach])

    def _window_lengths(self, reach: Reach) -> Values:
        """How long the sum of each window's vectors is: from the products of leaves that are so far apart or less."""
        first, end, _ = self._line.window(reach)
        squares = np.zeros(len(first))
        for apart in range(sum(reach) + 1):
            sums = _running(self._products(apart))
            squares += (2 if apart else 1) * (sums[np.maximum(end - apart, first)] - sums[first])
        return np.asarray(np.maximum(np.sqrt(np.maximum(squares, 0.0)), 1e-6))

    def _products(self, apart: int) -> Values:
        """Of each leaf [n] the product with the leaf so many after it."""
        products = np.zeros(len(self._vectors))
        known = max(len(products) - apart, 0)
        products[:known] = np.einsum("nd,nd->n", self._vectors[:known], self._vectors[apart:])
        return products

    def sessions(self, along: Values) -> Values:
        """The cosine of each session."""
        return np.asarray(self._line.totals(along) / self._sessions)

    def leaves_apart(self, along: Values, question: NDArray[np.float32]) -> Values:
        """The cosine of each leaf once what all leaves have in common is taken off."""
        return np.asarray((along - float(self._mean @ question)) / self._apart)

    def sessions_apart(self, along: Values, question: NDArray[np.float32]) -> Values:
        """The cosine of each session once what all leaves have in common is taken off."""
        means = self._line.totals(along) / self._sizes
        return np.asarray((means - float(self._mean @ question)) / self._sessions_apart)


def _lengths(rows: Values) -> Values:
    return np.asarray(np.maximum(np.sqrt(np.square(rows).sum(axis=1)), 1e-6))
