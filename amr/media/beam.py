"""Reads a chat of BEAM: batches of a few weeks, each of many sessions between a user and an assistant.

{"id", "chat": [{"batch_number", "turns": [[{"role", "id", "content", "time_anchor"?: "March-15-2024"}]]}], …}
"""

from __future__ import annotations

import re
from typing import Any

from amr.media.chats import Faults, Haystack, Session, Turn, time_of

_MARKER = re.compile(r"\s*->->\s*[\d,\s]*$")
"""Where the plan of the conversation is, which its makers left behind the user's words."""


def haystack(record: dict[str, Any]) -> Haystack:
    """The haystack of a chat. A session's ref is `<batch>-<n>`, n from 1 in its batch; a turn's is its id.

    A date holds until the next one: only the first session of a batch has one.
    """
    name = str(record.get("id") or "")
    faults = Faults(name)
    sessions: list[Session] = []
    time_ms: int | None = None
    for number, batch in enumerate(faults.items(record, "chat"), start=1):
        if not isinstance(batch, dict):
            faults.note(f"batch {number}", "this is no object")
            continue
        known_as = batch.get("batch_number") or number
        for place, group in enumerate(faults.items(batch, "turns", f"batch {known_as}"), start=1):
            ref = f"{known_as}-{place}"
            if not isinstance(group, list):
                faults.note(f"session {ref}", "this is no list of turns")
                continue
            time_ms = _date(faults, ref, [batch, *group] if place == 1 else group) or time_ms
            sessions.append(Session(ref, time_ms, tuple(_turns(faults, ref, group))))
    return Haystack(name, tuple(sessions), faults.told())


def _date(faults: Faults, session: str, holders: list[Any]) -> int | None:
    for holder in holders:
        anchor = holder.get("time_anchor") if isinstance(holder, dict) else None
        if anchor is not None:
            time_ms = wall_time(anchor)
            if time_ms is not None:
                return time_ms
            faults.note(f"session {session}", f"the date {anchor!r} is no date")
    return None


def _turns(faults: Faults, session: str, given: list[Any]) -> list[Turn]:
    turns = []
    for number, turn in enumerate(given, start=1):
        known_as = turn.get("id") if isinstance(turn, dict) else None
        ref = f"{session}:{number}" if known_as is None else str(known_as)
        text = _MARKER.sub("", faults.text(turn, "content")) if isinstance(turn, dict) else ""
        made = faults.turn(ref, turn, text)
        if made is None:
            continue
        if known_as is None:
            faults.note(f"turn {ref}", "'id' is missing")
        turns.append(made)
    return turns


def wall_time(text: Any) -> int | None:
    """A date such as `March-15-2024` in milliseconds since the epoch, None when it is none."""
    return time_of(text, "%B-%d-%Y")
