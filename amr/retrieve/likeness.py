"""How near in meaning two words are, by their vectors: each word of a question is compared with every other once."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from amr.models.embedding import DIMENSIONS, embed
from amr.retrieve.calibration import calibration

_MOST = 50_000


class Vocabulary:
    """The words met so far with their vectors, and of each word that was asked for those that are near it."""

    def __init__(self) -> None:
        self._known: dict[str, None] = {}
        self._vectors = np.zeros((1024, DIMENSIONS), np.float32)
        self._near: dict[str, dict[str, float]] = {}
        self._compared: dict[str, int] = {}

    def add(self, words: Iterable[str]) -> None:
        """Makes words known, all at once, which is much quicker than one after another."""
        fresh = [word for word in words if len(word) > 2 and word not in self._known]
        if not fresh:
            return
        if len(self._known) + len(fresh) > _MOST:
            self.__init__()  # type: ignore[misc]
        first, end = len(self._known), len(self._known) + len(fresh)
        while len(self._vectors) < end:
            self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])
        self._vectors[first:end] = embed(fresh)
        self._known.update(dict.fromkeys(fresh))

    def likeness(self, word: str, words: frozenset[str]) -> float:
        """The cosine between a word and the nearest of those of some others that were added; 0 when none counts."""
        near = self._near.get(word)
        if near is None or self._compared[word] < len(self._known):
            near = self._compare(word)
        return max((near[other] for other in near.keys() & words), default=0.0)

    def _compare(self, word: str) -> dict[str, float]:
        first, end = self._compared.get(word, 0), len(self._known)
        vector: NDArray[np.float32] = embed([word])[0]
        # Without BLAS, which wakes its threads for a product as small as this.
        cosines = np.round(np.einsum("nd,d->n", self._vectors[first:end], vector).astype(np.float64), 4)
        others = list(self._known) if len(cosines) else []
        near = self._near.setdefault(word, {})
        for row in np.flatnonzero(cosines > calibration().soft[0]).tolist():
            near[others[first + row]] = float(cosines[row])
        self._compared[word] = end
        return near


vocabulary = Vocabulary()
"""Of this process."""
