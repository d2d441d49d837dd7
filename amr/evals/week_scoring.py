"""The rules by which answers about the week of EgoLife are judged.

Text is lower-cased; punctuation, articles and pronouns of possession are dropped. An answer is right when one of
the aliases (`answer_aliases`, else `answer`) is in it as whole words; for `where_last` it must also name no
`wrong_but_tempting` place. `when`: a clock time in the answer lies within the tolerance of a supporting line (60 s;
a time without seconds counts as its whole minute). `abstain`: right when nothing was found. `stale`: the answer
names a tempting wrong place, for other types than `where_last` only when it is not right. Support: one of the
first k pieces of evidence lasts at most 35 s and contains the start of a supporting line, give or take 2 s.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

_DROPPED = frozenset(["a", "an", "the", "my", "your", "our", "i", "you", "we"])
_TOLERANCE_S = 60
_LONGEST_S = 35
_SLACK = timedelta(seconds=2)
_CLOCK = re.compile(r"\b(\d{1,2}):(\d{2})(?::(\d{2}))?")


@dataclass(frozen=True)
class Verdict:
    """How an answer was judged; `support` is the rank of the first supporting evidence, None without any."""

    right: bool
    stale: bool
    found: bool
    support: int | None

    def supported(self, k: int) -> bool:
        """Whether one of the first `k` pieces of evidence supports the answer."""
        return self.support is not None and self.support <= k


def judge(question: Mapping[str, Any], reply: Mapping[str, Any]) -> Verdict:
    """Judges a reply to one of the authored questions."""
    answer, found = str(reply.get("answer") or ""), bool(reply.get("found"))
    supports = supports_of(question)
    rank = support_rank(reply.get("evidence") or [], supports)
    kind = question["type"]
    if kind == "abstain":
        return Verdict(not found, False, found, rank)
    if kind == "when" and supports:
        tolerance = question.get("tolerance_s", _TOLERANCE_S)
        return Verdict(found and any(says_time(answer, one, tolerance) for one in supports), False, found, rank)
    says = words(answer)
    tempted = found and any(words(wrong) in says for wrong in question.get("wrong_but_tempting", []))
    right = found and any(words(alias) in says for alias in question.get("answer_aliases") or [question["answer"]])
    if kind == "where_last":
        return Verdict(right and not tempted, tempted, found, rank)
    return Verdict(right, tempted and not right, found, rank)


def words(text: object) -> str:
    """The words of a text that count, with a space at both ends, so that whole words can be looked for."""
    counting = [word for word in re.findall(r"\w+", str(text).lower()) if word not in _DROPPED]
    return f" {' '.join(counting)} "


def supports_of(question: Mapping[str, Any]) -> list[datetime]:
    """When the supporting lines of a question start; DAYn is the n-th of January 2000."""
    return [moment(line["date"], line["start"]) for line in question.get("support", [])]


def moment(day: str, hhmmss: int | str) -> datetime:
    """A day and a time written as HHMMSS; further digits are dropped."""
    digits = f"{int(hhmmss):06d}" if isinstance(hhmmss, int) else hhmmss[:6]
    midnight = datetime(2000, 1, int(day.removeprefix("DAY")))
    return midnight + timedelta(hours=int(digits[:2]), minutes=int(digits[2:4]), seconds=int(digits[4:6]))


def says_time(answer: str, target: datetime, tolerance_s: float) -> bool:
    """Whether a clock time in the answer is near enough to a moment of the same day."""
    slack = timedelta(seconds=tolerance_s)
    for hours, minutes, seconds in _CLOCK.findall(answer):
        first = target.replace(hour=int(hours) % 24, minute=int(minutes) % 60, second=int(seconds or 0) % 60)
        last = first if seconds else first + timedelta(seconds=59)
        if first - slack <= target <= last + slack:
            return True
    return False


def support_rank(evidence: Sequence[Mapping[str, Any]], supports: Sequence[datetime]) -> int | None:
    """The rank, from 1, of the first piece of evidence that contains the start of a supporting line."""
    for rank, piece in enumerate(evidence, start=1):
        if not piece.get("time"):
            continue
        start = datetime.fromisoformat(piece["time"]).replace(tzinfo=None)
        lasts = (piece.get("t_end") or 0) - (piece.get("t_start") or 0)
        end = start + timedelta(seconds=lasts)
        if lasts <= _LONGEST_S and any(start - _SLACK <= one <= end + _SLACK for one in supports):
            return rank
    return None
