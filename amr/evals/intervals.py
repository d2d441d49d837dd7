"""95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

_Z = 1.959964


def wilson(hits: float, n: int) -> tuple[float, float]:
    """Wilson's score interval for a proportion of `hits` in `n`; all of 0 to 1 when there is nothing to go by."""
    if n == 0:
        return 0.0, 1.0
    share = hits / n
    middle = share + _Z * _Z / (2 * n)
    half = _Z * math.sqrt(share * (1 - share) / n + _Z * _Z / (4 * n * n))
    scale = 1 + _Z * _Z / n
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def of_mean(values: Sequence[float]) -> tuple[float, float]:
    """The normal interval for the mean of fractions, cut at 0 and 1; all of 0 to 1 for fewer than two.

    Where all are the same nothing is known of their spread, and Wilson's interval, which assumes the widest, stands in.
    """
    n = len(values)
    if n < 2:
        return 0.0, 1.0
    mean = math.fsum(values) / n
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    if variance == 0:
        return wilson(math.fsum(values), n)
    half = _Z * math.sqrt(variance / n)
    return max(0.0, mean - half), min(1.0, mean + half)
