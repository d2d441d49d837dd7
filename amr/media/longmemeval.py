"""Reads a record of LongMemEval: a question with its haystack of dated sessions between a user and an assistant.

{"question_id", …, "haystack_dates": ["2023/05/20 (Sat) 02:21"], "haystack_session_ids": [id],
 "haystack_sessions": [[{"role", "content", "has_answer"?}]]}
"""

from __future__ import annotations

import re
from typing import Any

from amr.media.chats import Faults, Haystack, Session, Turn, time_of

_WEEKDAY = re.compile(r"\([^)]*\)")


def haystack(record: dict[str, Any]) -> Haystack:
    """The haystack of a record. A turn's ref is `<session id>_<n>`, n from 1 over all turns of the session."""
    name = str(record.get("question_id") or "")
    faults = Faults(name)
    given = faults.items(record, "haystack_sessions")
    dates = faults.items(record, "haystack_dates") if given else []
    ids = faults.items(record, "haystack_session_ids") if given else []
    for what, some in (("dates", dates), ("session ids", ids)):
        if given and some and len(some) != len(given):
            faults.note("", f"{len(some)} {what} for {len(given)} sessions")
    sessions = []
    for number, turns in enumerate(given):
        ref = str(ids[number]) if number < len(ids) else f"session_{number + 1}"
        time_ms = wall_time(dates[number]) if number < len(dates) else None
        if number < len(dates) and time_ms is None:
            faults.note(f"session {ref}", f"the date {dates[number]!r} is no date")
        if not isinstance(turns, list):
            faults.note(f"session {ref}", "this is no list of turns")
            continue
        sessions.append(Session(ref, time_ms, tuple(_turns(faults, ref, turns))))
    return Haystack(name, tuple(sessions), faults.told())


def _turns(faults: Faults, session: str, given: list[Any]) -> list[Turn]:
    turns = []
    for number, turn in enumerate(given, start=1):
        text = faults.text(turn, "content") if isinstance(turn, dict) else ""
        made = faults.turn(f"{session}_{number}", turn, text)
        if made is not None:
            turns.append(made)
    return turns


def wall_time(text: Any) -> int | None:
    """A date such as `2023/05/30 (Tue) 23:40` in milliseconds since the epoch, None when it is none."""
    bare = _WEEKDAY.sub(" ", text) if isinstance(text, str) else None
    return time_of(bare, "%Y/%m/%d %H:%M", "%Y/%m/%d")
