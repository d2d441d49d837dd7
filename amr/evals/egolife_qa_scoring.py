"""What retrieved pieces of a life are worth to a question whose answer was to be seen at known moments.

A piece counts for a moment when it lies in the moment's 30-second clip: it begins in that clip, or lasts over the
moment. A moment between two clips belongs to the nearer one. `target_recall@k.any`, `.all` and `.fraction` say whether
the first k pieces count for one of the moments, for each, and for how many; the first two also by type. In
`.within_3min` a piece counts that comes within 3 minutes of a moment.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from amr.evals.questions import EvalQuestion
from amr.evals.tally import Hit

CUTS = (5, 10, 50)
_NEAR_MS = 180_000


@dataclass(frozen=True)
class Piece:
    """A retrieved piece, with its times on the wall clock in milliseconds; `ref` is its clip file."""

    ref: str
    start_ms: int
    end_ms: int


@dataclass(frozen=True)
class Clips:
    """The clips of a life: when each begins and ends on the wall clock in milliseconds, in time order."""

    starts: Sequence[int]
    ends: Sequence[int]

    def at(self, moment: int) -> int:
        """The place of the clip that covers a moment, or is nearest to it; -1 when there are no clips."""
        place = bisect_right(self.starts, moment) - 1
        after = place + 1
        if after == len(self.starts) or (place >= 0 and moment < self.ends[place]):
            return place
        if place < 0 or self.starts[after] - moment < moment - self.ends[place]:
            return after
        return place


def piece_of(evidence: Mapping[str, Any]) -> Piece | None:
    """A piece of `evidence` as a reply has it; None without a wall clock."""
    if not evidence.get("time"):
        return None
    start = datetime.fromisoformat(evidence["time"]).replace(tzinfo=timezone.utc)
    start_ms = round(start.timestamp() * 1000)
    lasts = (evidence.get("t_end") or 0) - (evidence.get("t_start") or 0)
    return Piece(
        str(evidence.get("ref") or evidence.get("clip") or ""), start_ms, start_ms + max(0, round(lasts * 1000))
    )


def hits_of(question: EvalQuestion, pieces: Sequence[Piece | None], clips: Clips) -> dict[str, Hit]:
    """All metrics of one question, also under its type; none when it is left out."""
    if question.left_out:
        return {}
    targets = question.known["target_ms"]
    found: dict[str, Hit] = {}
    for variant, counts in (("", _in_clip(clips)), ("within_3min.", _near)):
        ranks = [_first(pieces, target, counts) for target in targets]
        for k in CUTS:
            share = sum(rank is not None and rank <= k for rank in ranks)
            name = f"target_recall@{k}.{variant}"
            told: dict[str, Hit] = {
                "any": share > 0,
                "all": share == len(targets),
                "fraction": float(share / len(targets)),
            }
            found |= {f"{name}{what}": hit for what, hit in told.items()}
            # Most questions have one target, so a fraction of each type would say nothing more.
            found |= {f"{name}{what}.{question.category}": told[what] for what in ("any", "all")}
    return found


Counts = Callable[[Piece, int], bool]


def _first(pieces: Sequence[Piece | None], target: int, counts: Counts) -> int | None:
    ranked = enumerate(pieces, start=1)
    return next((rank for rank, piece in ranked if piece is not None and counts(piece, target)), None)


def _in_clip(clips: Clips) -> Counts:
    def counts(piece: Piece, target: int) -> bool:
        return piece.start_ms <= target <= piece.end_ms or clips.at(piece.start_ms) == clips.at(target) >= 0

    return counts


def _near(piece: Piece, target: int) -> bool:
    return piece.start_ms - _NEAR_MS <= target <= piece.end_ms + _NEAR_MS
