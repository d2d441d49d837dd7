"""Whether two systems differ on the same questions: paired tests, two-sided, the same every time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from amr.evals.intervals import wilson
from amr.evals.tally import Hit

_Z = 1.959964
_DRAWS = 10_000
_SEED = 20_000
_EXACT = 13
"""Up to so many questions that differ, all signs are tried instead of some."""

MCNEMAR, SIGNS = "mcnemar", "permutation"


@dataclass(frozen=True)
class Paired:
    """A metric over the `n` questions that both have. `difference` is b − a, with its 95 % interval.

    `gained` and `lost` are how many questions are better and worse in b. `test` is how `p` came about.
    """

    a: float
    b: float
    n: int
    difference: float
    low: float
    high: float
    gained: int
    lost: int
    p: float
    test: str


def paired(a: Sequence[Hit], b: Sequence[Hit]) -> Paired:
    """The comparison of two systems' hits on the same questions, at least one.

    McNemar's exact test where all are right or wrong, else a permutation test of the signs of the differences. The
    interval is the normal one of the mean difference, within −1 to 1.
    """
    first, second = np.array(a, np.float64), np.array(b, np.float64)
    differences = second - first
    n = len(differences)
    gained, lost = int((differences > 0).sum()), int((differences < 0).sum())
    binary = all(isinstance(hit, bool) for hit in (*a, *b))
    mean = float(differences.mean())
    spread = float(differences.std(ddof=1)) if n > 1 else 0.0
    # Where all differ by the same, how far others may is what Wilson's interval has for none in n.
    half = _Z * spread / math.sqrt(n) if spread else wilson(0, n)[1]
    return Paired(
        a=float(first.mean()),
        b=float(second.mean()),
        n=n,
        difference=mean,
        low=max(-1.0, mean - half),
        high=min(1.0, mean + half),
        gained=gained,
        lost=lost,
        p=mcnemar(gained, lost) if binary else permutation(differences[differences != 0]),
        test=MCNEMAR if binary else SIGNS,
    )


def mcnemar(gained: int, lost: int) -> float:
    """The exact two-sided p of McNemar's test: a fair coin for each question that only one got right."""
    n = gained + lost
    if gained == lost:
        return 1.0
    tail = sum(math.comb(n, i) for i in range(min(gained, lost) + 1))
    return min(1.0, float(2 * tail / 2**n))


def permutation(differences: NDArray[np.float64]) -> float:
    """The two-sided p for the mean of paired differences, by turning the sign of each; 1 where there are none.

    Exact for a few differences; else over 10,000 draws that are always the same, where p is at least 1 / 10,001.
    """
    n = len(differences)
    if n == 0:
        return 1.0
    exact = n <= _EXACT
    sums = _signs(n, exact) @ differences
    # The last digits of a sum depend on its order.
    beyond = int((np.abs(sums) >= abs(float(differences.sum())) - 1e-9).sum())
    return beyond / len(sums) if exact else (beyond + 1) / (len(sums) + 1)


@lru_cache(maxsize=8)
def _signs(n: int, every: bool) -> NDArray[np.float32]:
    if every:
        rows = np.arange(2**n)[:, None] >> np.arange(n) & 1
    else:
        rows = np.random.default_rng(_SEED).integers(0, 2, (_DRAWS, n), np.int8)
    return (1 - 2 * rows).astype(np.float32)
