"""What a ranking of sessions and turns is worth in LongMemEval.

`session_recall@k.any` and `.all`, `session_ndcg@10`, and the same of turns; over all questions whose evidence is in
their haystack, and as `.official` over those that the official figures keep. `.user` is the benchmark's own setting:
only what the user said is searched. There, all questions count the sessions named as evidence, as the independent
harnesses do; the official ones count those where the user said it, as `run_retrieval.py` does.

`.official_dcg` is NDCG as `eval_utils.py` has it, where rank 2 is worth as much as rank 1: for comparison with
published figures only.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from amr.evals.questions import EvalQuestion
from amr.evals.recall import NDCG_CUT, recall_hits
from amr.evals.tally import Hit

CUTS = (1, 3, 5, 10, 30, 50)
UNITS = ("turn", "session", "user_turn", "user_session")
_TYPE_CUTS = (5, 10)


def hits_of(question: EvalQuestion, retrieved: Mapping[str, Sequence[str]]) -> dict[str, Hit]:
    """All metrics of one question; `retrieved` has refs for some of the units, best first."""
    if question.left_out:
        return {}
    found: dict[str, Hit] = {}
    for unit in UNITS:
        if unit not in retrieved:
            continue
        plain = unit.removeprefix("user_")
        setting = "" if plain == unit else ".user"
        refs = list(dict.fromkeys(retrieved[unit]))
        gold = question.gold["session"] if unit == "user_session" else question.gold[unit]
        official = question.gold[unit] if question.known.get("official") else ()
        if gold:
            for name, hit in _measures(plain, refs, gold):
                found[f"{name}{setting}"] = hit
                if _told_by_type(name):
                    found[f"{name}{setting}.{question.category}"] = hit
        if official:
            found |= {f"{name}{setting}.official": hit for name, hit in _measures(plain, refs, official)}
    return found


def _measures(unit: str, refs: Sequence[str], gold: Collection[str]) -> Iterator[tuple[str, Hit]]:
    for name, hit in recall_hits(unit, refs, gold, CUTS).items():
        if not name.endswith(".fraction"):
            yield name, hit
    yield f"{unit}_ndcg@{NDCG_CUT}.official_dcg", official_ndcg(refs, gold, NDCG_CUT)


def _told_by_type(name: str) -> bool:
    cut = int(name.partition("@")[2].partition(".")[0])
    return cut in _TYPE_CUTS and not name.endswith(".official_dcg")


def official_ndcg(refs: Sequence[str], gold: Collection[str], k: int) -> float:
    """NDCG as LongMemEval's `eval_utils.py` has it: gains of rank r from 2 on are divided by log2(r)."""
    wanted = frozenset(gold)

    def worth(rank: int) -> float:
        return 1.0 if rank == 1 else 1 / math.log2(rank)

    gain = math.fsum(worth(rank) for rank, ref in enumerate(refs[:k], start=1) if ref in wanted)
    return gain / math.fsum(worth(rank) for rank in range(1, min(k, len(wanted)) + 1))


def first_rank(refs: Sequence[str], gold: Collection[str]) -> int | None:
    """The rank, from 1, of the first piece of evidence; None when none was retrieved."""
    return next((rank for rank, ref in enumerate(refs, start=1) if ref in gold), None)
