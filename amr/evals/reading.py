"""What a model reads to answer a benchmark's question: evidence in order of time, within a budget of tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from amr.models.capabilities import text_tokens
from amr.retrieve.times import show_moment

_LEAST_TEXT = 80
"""Characters; a piece of which less could be shown is left out."""
_UNDATED = "no date"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_ANSWER = re.compile(r"\bAnswer\s*:", re.IGNORECASE)


@dataclass(frozen=True)
class Shown:
    """A piece of evidence for the reader. `time_ms` is its wall clock, `order` its place among those of one time."""

    ref: str
    time_ms: int | None
    order: int
    text: str


def shown_of(evidence: Iterable[Mapping[str, Any]]) -> list[Shown]:
    """The evidence of a reply, as `amr query --json` gives it, in its order."""
    return [
        Shown(str(piece.get("ref") or piece["node_id"]), _wall_ms(piece.get("time")), piece["node_id"], piece["text"])
        for piece in evidence
    ]


def _wall_ms(iso: str | None) -> int | None:
    if iso is None:
        return None
    moment = datetime.fromisoformat(iso.replace("Z", "+00:00"))
    moment = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def fitting(evidence: Sequence[Shown], tokens: int) -> list[Shown]:
    """The evidence that fits into so many tokens, given best first; in order of time.

    A piece that is too long for what is left is cut short when it is the best, and left out otherwise.
    """
    kept: list[Shown] = []
    left = tokens
    for piece in evidence:
        size = _tokens(piece)
        if size > left and not kept:
            room = max(_LEAST_TEXT, 4 * left - 4 * _tokens(Shown(piece.ref, piece.time_ms, piece.order, "")))
            piece = Shown(piece.ref, piece.time_ms, piece.order, piece.text[:room].rstrip() + "…")
            size = left
        if size <= left:
            kept.append(piece)
            left -= size
    return sorted(kept, key=lambda piece: (piece.time_ms is None, piece.time_ms or 0, piece.order))


def _tokens(piece: Shown) -> int:
    """About what a piece takes; its time is counted though it may be shared with its neighbours."""
    return text_tokens(f"[{when(piece.time_ms)}]\n{piece.text}\n")


def sessions_of(pieces: Sequence[Shown]) -> list[dict[str, Any]]:
    """Pieces in order of time as `{"when", "lines"}`, those of one time together."""
    sessions: list[dict[str, Any]] = []
    for piece in pieces:
        moment = when(piece.time_ms)
        if not sessions or sessions[-1]["when"] != moment:
            sessions.append({"when": moment, "lines": []})
        sessions[-1]["lines"].append(" ".join(piece.text.split()))
    return sessions


def when(time_ms: int | None) -> str:
    """A wall clock with its day of the week, by which "last Friday" is understood."""
    if time_ms is None:
        return _UNDATED
    shown = show_moment(time_ms, None)
    return shown if shown.startswith("DAY") else f"{shown} ({_EPOCH + timedelta(milliseconds=time_ms):%A})"


def asked_when(asked_at: str | None) -> str:
    """The date of a question as the reader is shown it, with its day of the week where it is a date."""
    try:
        return when(_wall_ms(asked_at)) if asked_at else ""
    except ValueError:  # "DAY2 21:14:30", a clock time, seconds
        return asked_at or ""


def last_answer(reply: str) -> str:
    """What follows the last "Answer:" of a reply, the whole reply where there is none; only this is judged."""
    found = list(_ANSWER.finditer(reply))
    text = reply[found[-1].end() :] if found else reply
    return text.strip().strip("*").strip()


def answers(reply: str) -> bool:
    """Whether a reply comes to its "Answer:"."""
    return bool(_ANSWER.search(reply) and last_answer(reply))
