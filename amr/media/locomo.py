"""Reads a conversation of LoCoMo: sessions between two friends, with captions of the pictures that they send.

{"sample_id", "conversation": {"speaker_a", "speaker_b", "session_1_date_time": "1:56 pm on 8 May, 2023",
 "session_1": [{"speaker", "dia_id": "D1:1", "text", "blip_caption"?}], …}, …}
"""

from __future__ import annotations

import re
from typing import Any

from amr.media.chats import Faults, Haystack, Session, Turn, time_of

_SESSION = re.compile(r"session_(\d+)")


def haystack(record: dict[str, Any]) -> Haystack:
    """The haystack of a conversation. A session's ref is `D3`, a turn's its `dia_id`."""
    name = str(record.get("sample_id") or "")
    faults = Faults(name)
    conversation = record.get("conversation")
    if not isinstance(conversation, dict):
        faults.note("", "'conversation' is missing" if conversation is None else "'conversation' is no object")
        return Haystack(name, (), faults.told())
    numbers = sorted(int(match[1]) for key in conversation if (match := _SESSION.fullmatch(key)))
    sessions = []
    for number in numbers:
        ref, key = f"D{number}", f"session_{number}"
        date = conversation.get(f"{key}_date_time")
        time_ms = wall_time(date)
        if time_ms is None:
            missing = f"'{key}_date_time' is missing"
            faults.note(f"session {ref}", missing if date is None else f"the date {date!r} is no date")
        turns = tuple(_turns(faults, ref, faults.items(conversation, key, f"session {ref}")))
        sessions.append(Session(ref, time_ms, turns))
    if not numbers:
        faults.note("", "there is no session")
    return Haystack(name, tuple(sessions), faults.told())


def _turns(faults: Faults, session: str, given: list[Any]) -> list[Turn]:
    turns = []
    for number, turn in enumerate(given, start=1):
        place = f"{session}:{number}"
        if not isinstance(turn, dict):
            faults.note(f"turn {place}", "this is no object")
            continue
        text, caption = faults.text(turn, "text"), faults.text(turn, "blip_caption")
        ref, speaker = faults.text(turn, "dia_id"), faults.text(turn, "speaker")
        if not (text or caption):
            faults.note(f"turn {ref or place}", "there is no text")
            continue
        for key, value in (("dia_id", ref), ("speaker", speaker)):
            if not value:
                faults.note(f"turn {ref or place}", f"{key!r} is missing")
        turns.append(Turn(speaker or "someone", text, ref or place, None, caption))
    return turns


def wall_time(text: Any) -> int | None:
    """A date such as `1:56 pm on 8 May, 2023` in milliseconds since the epoch, None when it is none."""
    return time_of(text, "%I:%M %p on %d %B, %Y")
