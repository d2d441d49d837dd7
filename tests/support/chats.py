"""Small chats for tests: lines of the package's own format, and records of the benchmarks."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

THINGS = ("a kayak", "an oboe", "the cactus", "a telescope", "the violin", "a beehive", "the tandem", "a lantern")


def line(
    session: str, speaker: str, text: str, date: str | None = "2024-05-01T09:30:00Z", **more: Any
) -> dict[str, Any]:
    """A line of a chat."""
    return {"session": session, "date": date, "speaker": speaker, "text": text, **more}


def chat_jsonl(path: Path, lines: Iterable[dict[str, Any]]) -> Path:
    """Writes the lines of a chat."""
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines), encoding="utf-8")
    return path


def longmemeval(name: str, sessions: int, turns: int = 4, seed: int = 0) -> dict[str, Any]:
    """A record of LongMemEval: every session tells of one of THINGS, its first turn says so."""
    chance = random.Random(seed)
    words = [f"word{number}" for number in range(300)]
    told: list[list[dict[str, str]]] = []
    for number in range(sessions):
        first = f"I bought {THINGS[number % len(THINGS)]} in shop {name} {number}"
        rest = [" ".join(chance.choices(words, k=12)) for _ in range(turns - 1)]
        roles = ("user", "assistant")
        told.append([{"role": roles[n % 2], "content": text} for n, text in enumerate([first, *rest])])
    return {
        "question_id": name,
        "question_type": "single-session-user",
        "question": "What did I buy?",
        "answer": "",
        "question_date": "2023/12/30 (Sat) 12:00",
        "haystack_dates": [f"2023/05/{1 + n % 28:02} (Mon) {n % 24:02}:15" for n in range(sessions)],
        "haystack_session_ids": [f"{name}-{n}" for n in range(sessions)],
        "haystack_sessions": told,
        "answer_session_ids": [],
    }


def locomo(name: str, sessions: dict[int, tuple[str | None, list[tuple[str, str]]]]) -> dict[str, Any]:
    """A conversation of LoCoMo: of each session its date and what was said by whom."""
    conversation: dict[str, Any] = {"speaker_a": "Caroline", "speaker_b": "Melanie"}
    for number, (date, turns) in sessions.items():
        if date is not None:
            conversation[f"session_{number}_date_time"] = date
        conversation[f"session_{number}"] = [
            {"speaker": speaker, "dia_id": f"D{number}:{n}", "text": text} for n, (speaker, text) in enumerate(turns, 1)
        ]
    return {"qa": [], "conversation": conversation, "sample_id": name}
