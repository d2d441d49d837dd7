"""95 % intervals."""

from __future__ import annotations

import math

_Z = 1.959964


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Wilson's score interval for a proportion of `hits` in `n`; all of 0 to 1 when there is nothing to go by."""
    if n == 0:
        return 0.0, 1.0
    share = hits / n
    middle = share + _Z * _Z / (2 * n)
    half = _Z * math.sqrt(share * (1 - share) / n + _Z * _Z / (4 * n * n))
    scale = 1 + _Z * _Z / n
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)
