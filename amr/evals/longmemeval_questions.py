"""LongMemEval's questions: what is asked, when, and which sessions and turns hold the answer.

A record of the file is a question with its own haystack (https://github.com/xiaowu0162/LongMemEval). Gold has four
units: `session` are the `answer_session_ids`, `turn` the turns marked `has_answer`, `user_turn` those of them that the
user said, and `user_session` the sessions of these. A record without a user's turn that answers, and one whose id ends
with `_abs` (the answer is not there), are left out of the official retrieval figures (`run_retrieval.py` there).

A question is asked as of its date; where the file dates a session later than that, as of the latest session, for the
benchmark searches the whole haystack.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amr.errors import BadInput
from amr.evals.questions import EvalQuestion
from amr.media.chats import Haystack
from amr.media.json_values import json_values
from amr.media.lines import opened
from amr.media.longmemeval import haystack, wall_time
from amr.retrieve.times import iso_time

TYPES = (
    "single-session-user", "single-session-assistant", "single-session-preference",
    "multi-session", "temporal-reasoning", "knowledge-update",
)  # fmt: skip
_TEXTS = ("question_id", "question", "question_type")


@dataclass(frozen=True)
class Record:
    """A question with its haystack and the record as it was published.

    `problems` are sentences on what could not be read. `question` is None when nothing can be asked.
    """

    question: EvalQuestion | None
    haystack: Haystack
    raw: dict[str, Any]
    problems: tuple[str, ...] = ()


def read_records(path: Path) -> Iterator[Record]:
    """The records of an official file, a JSON array or JSON lines, packed or not, one at a time. Raises BadInput."""
    number = 0
    with opened(path) as file:
        for number, raw in enumerate(json_values(path, file), start=1):
            if number == 1:
                _check_first(path, raw)
            yield record_of(raw, number)
    if not number:
        raise BadInput(f"{path} holds no question; give longmemeval_s, _m or _oracle as published.")


def _check_first(path: Path, raw: Any) -> None:
    keys = raw.keys() if isinstance(raw, dict) else frozenset()
    if "evidence_sessions" in keys:
        raise BadInput(f"{path} has evidence without haystacks; ask it with --pooled, or give longmemeval_s.")
    if not {"question_id", "haystack_sessions"} & keys:
        raise BadInput(f"{path} is no file of LongMemEval; give longmemeval_s, _m or _oracle as published.")


def record_of(raw: Any, number: int) -> Record:
    """A record of a file, the `number`-th, with what is wrong in it."""
    if not isinstance(raw, dict):
        return Record(None, Haystack("", ()), {}, (f"Record {number} is no JSON object; it is not asked.",))
    stack = haystack(raw)
    name = stack.name or f"record {number}"
    missing = [key for key in _TEXTS if not isinstance(raw.get(key), str) or not raw[key].strip()]
    if missing:
        problem = f"{name}: {', '.join(missing)} missing or no text; the question is not asked."
        return Record(None, stack, raw, (*stack.problems, problem))
    gold, told = _gold(raw, stack)
    asked_at, wrong_date = _asked_at(raw, stack)
    left_out = wrong_date or ("" if gold["session"] or gold["turn"] else "none of its evidence is in its haystack")
    abstention = name.endswith("_abs")
    question = EvalQuestion(
        id=name,
        question=raw["question"].strip(),
        category=raw["question_type"],
        scope=name,
        gold=gold,
        answer=str(raw.get("answer", "")),
        asked_at=asked_at,
        known={
            "abstention": abstention,
            "official": not abstention and bool(gold["user_turn"]),
            "question_date": raw.get("question_date"),
            "sessions": len(stack.sessions),
            "turns": sum(len(session.turns) for session in stack.sessions),
        },
        left_out=left_out,
    )
    told += [f"{name}: {left_out}; its retrieval is not scored."] if left_out else []
    return Record(question, stack, raw, (*stack.problems, *told))


def _gold(raw: dict[str, Any], stack: Haystack) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    named = raw.get("answer_session_ids")
    named = [str(one) for one in named] if isinstance(named, list) else []
    there = {session.ref for session in stack.sessions}
    lost = [one for one in named if one not in there]
    told = [f"{stack.name}: evidence names sessions that are not in the haystack: {', '.join(lost)}."] if lost else []
    turns, by_user = marked_turns(raw, stack)
    gold = {
        "session": tuple(dict.fromkeys(one for one in named if one in there)),
        "turn": tuple(ref for ref, _ in turns),
        "user_turn": tuple(ref for ref, _ in by_user),
        "user_session": tuple(dict.fromkeys(session for _, session in by_user)),
    }
    return gold, told


def marked_turns(raw: dict[str, Any], stack: Haystack) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The turns marked `has_answer` that could be read, each with its session, and those of them by the user."""
    ids, read = raw.get("haystack_session_ids"), {turn.ref: turn for one in stack.sessions for turn in one.turns}
    found, by_user = [], []
    for place, turns in enumerate(raw.get("haystack_sessions") or []):
        session = str(ids[place]) if isinstance(ids, list) and place < len(ids) else f"session_{place + 1}"
        for number, turn in enumerate(turns if isinstance(turns, list) else [], start=1):
            ref = f"{session}_{number}"
            if ref in read and isinstance(turn, dict) and turn.get("has_answer") is True:
                found.append((ref, session))
                by_user += [(ref, session)] if read[ref].role == "user" else []
    return found, by_user


def _asked_at(raw: dict[str, Any], stack: Haystack) -> tuple[str | None, str]:
    """When the question is asked, as `--as-of` takes it, and why it cannot be scored, if it cannot."""
    date = raw.get("question_date")
    asked = wall_time(date)
    if asked is None:
        return None, f"its date {date!r} is no date"
    latest = max((one.time_ms for one in stack.sessions if one.time_ms is not None), default=asked)
    return iso_time(max(asked, latest)), ""


def dated_later(records: Sequence[EvalQuestion]) -> int:
    """How many questions are asked as of a session that the file dates after them."""
    return sum(one.asked_at is not None and one.asked_at != _iso(one.known.get("question_date")) for one in records)


def _iso(date: Any) -> str | None:
    asked = wall_time(date)
    return None if asked is None else iso_time(asked)
