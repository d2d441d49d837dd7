"""Retrieval metrics, from the refs of what was retrieved, best first, and those of the evidence.

For a unit such as `turn` and each cut k: `turn_recall@k.any` (some evidence is among the first k), `.all` (all of it
is) and `.fraction` (how much of it is); and `turn_ndcg@10`, every piece of evidence being worth the same, a piece at
rank r counting 1 / log2(r + 1).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from amr.evals.tally import Hit

CUTS = (1, 3, 5, 10, 20, 50)
DEPTH = max(CUTS)
NDCG_CUT = 10


def recall_hits(
    unit: str, retrieved: Sequence[str], gold: Collection[str], cuts: Sequence[int] = CUTS
) -> dict[str, Hit]:
    """All metrics of one question. `gold` must not be empty: what has no evidence cannot be retrieved.

    A ref that was retrieved twice counts once, and takes both places.
    """
    wanted = frozenset(gold)
    hits: dict[str, Hit] = {}
    for k in cuts:
        found = len(wanted.intersection(retrieved[:k]))
        hits[f"{unit}_recall@{k}.any"] = found > 0
        hits[f"{unit}_recall@{k}.all"] = found == len(wanted)
        hits[f"{unit}_recall@{k}.fraction"] = float(found / len(wanted))
    hits[f"{unit}_ndcg@{NDCG_CUT}"] = ndcg(retrieved, wanted, NDCG_CUT)
    return hits


def ndcg(retrieved: Sequence[str], gold: Collection[str], k: int) -> float:
    """Normalised discounted cumulative gain of the first `k`; the ideal has all evidence at the top."""
    wanted = frozenset(gold)
    first = {ref: rank for rank, ref in reversed(list(enumerate(retrieved[:k], start=1)))}
    gain = math.fsum(1 / math.log2(rank + 1) for ref, rank in first.items() if ref in wanted)
    ideal = math.fsum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(wanted)) + 1))
    return gain / ideal
