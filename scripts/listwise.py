"""A linear model that puts the right ones of each list first: listwise softmax with an L2 penalty, by Newton."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
Weights = NDArray[np.float64]
Rows = tuple[Matrix, NDArray[np.bool_]]
"""One list: its candidates' features [n, f], and which of them are right, at least one."""

_STEPS = 12
_CLOSE = 0.02


def fit(lists: Sequence[Rows], penalty: float, start: Weights | None = None) -> Weights:
    """The weights [f] with the least cross-entropy between the right ones of each list and softmax of its scores."""
    model = _Lists(lists)
    weights = np.zeros(model.features.shape[1]) if start is None else start
    loss, shares = model.loss(weights, penalty)
    for _ in range(_STEPS):
        step = model.step(weights, shares, penalty)
        length, before = 1.0, loss
        while True:
            moved = weights - length * step
            loss, shares = model.loss(moved, penalty)
            if loss <= before + 1e-6 or length < 0.01:
                break
            length /= 2
        weights = moved
        if before - loss < _CLOSE:
            break
    return weights


class _Lists:
    """All lists in one matrix."""

    def __init__(self, lists: Sequence[Rows]) -> None:
        sizes = np.array([len(rows) for rows, _ in lists])
        self.features = np.concatenate([rows for rows, _ in lists])
        self._starts = np.cumsum(sizes) - sizes
        self._list = np.repeat(np.arange(len(sizes)), sizes)
        self._right = np.concatenate([right / right.sum() for _, right in lists])
        self._wanted = (self.features.T @ self._right.astype(np.float32)).astype(np.float64)

    def loss(self, weights: Weights, penalty: float) -> tuple[float, Weights]:
        """The loss, and the share of each candidate in its list."""
        scores = (self.features @ weights.astype(np.float32)).astype(np.float64)
        best = np.maximum.reduceat(scores, self._starts)
        raised = np.exp(scores - best[self._list])
        totals = np.add.reduceat(raised, self._starts)
        loss = (best + np.log(totals)).sum() - (self._right * scores).sum() + penalty / 2 * float(weights @ weights)
        return float(loss), raised / totals[self._list]

    def step(self, weights: Weights, shares: Weights, penalty: float) -> Weights:
        """Newton's step."""
        part = shares.astype(np.float32)
        gradient = (self.features.T @ part).astype(np.float64) - self._wanted + penalty * weights
        weighted = self.features * part[:, None]
        means = np.add.reduceat(weighted, self._starts, axis=0)
        curvature = (self.features.T @ weighted - means.T @ means).astype(np.float64)
        found: Weights = np.linalg.solve(curvature + penalty * np.eye(len(weights)), gradient)
        return found
