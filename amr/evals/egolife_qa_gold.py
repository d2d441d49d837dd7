"""EgoLifeQA's questions: what is asked, when, and at which moments of the week the answer was to be seen.

Of `target_time` the published file has three forms, and some questions have none:

    {"date": "DAY1", "time": "17364916"}                              one moment, HHMMSS and hundredths
    {"date": "DAY1", "time_list": ["13394908", "13512718"]}           several on one day
    {"date": "DAY4", "time": "17044917DAY4_20593813DAY6_19483807"}    several on several days

Moments are told on the wall clock, where DAYn is the n-th of January 2000.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from amr.errors import BadInput
from amr.evals.files import read_text
from amr.evals.questions import EvalQuestion, QuestionSet
from amr.media.egolife import DAY_MS, FIRST_DAY_MS, clock_ms
from amr.retrieve.times import show_moment

SCOPE = "default"
_LETTERS = "ABCD"
_DAY = re.compile(r"\s*DAY[_ ]?(\d{1,4})\s*", re.IGNORECASE)
_CHAINED = re.compile(r"DAY(\d+)_(\d{1,8})", re.IGNORECASE)


def read_questions(path: Path) -> QuestionSet:
    """The questions of a file, in its order. Raises BadInput when it is no file of EgoLifeQA."""
    try:
        given = json.loads(read_text(path))
    except ValueError as error:
        raise BadInput(f"{path} is not valid JSON ({error}); copy it again.") from error
    if not isinstance(given, list) or not any(isinstance(one, dict) and "query_time" in one for one in given):
        raise BadInput(f"{path} holds no questions of EgoLifeQA; give EgoLifeQA_A1_JAKE.json as published.")
    found = QuestionSet()
    for number, raw in enumerate(given, start=1):
        question, problems = question_of(raw, number)
        found.questions += [] if question is None else [question]
        found.problems += problems
    return found


def question_of(raw: Any, number: int) -> tuple[EvalQuestion | None, list[str]]:
    """The `number`-th entry of a file, None when it cannot be asked, and what is wrong with it."""
    if not isinstance(raw, dict):
        return None, [f"Question {number} is no JSON object; it is not asked."]
    name = str(raw.get("ID") or number)
    text, asked = raw.get("question"), moments(raw.get("query_time"))
    if not isinstance(text, str) or not text.strip():
        return None, [f"Question {name} has no words; it is not asked."]
    if len(asked) != 1:
        return None, [f"Question {name}: query_time {raw.get('query_time')!r} is no time; it is not asked."]
    targets = moments(raw.get("target_time"))
    left_out = _fault(raw.get("target_time"), targets, asked[0])
    choices = {letter: str(raw[key]) for letter in _LETTERS if (key := f"choice_{letter.lower()}") in raw}
    letter = str(raw.get("answer") or "").strip().upper()
    question = EvalQuestion(
        id=name,
        question=text.strip(),
        category=str(raw.get("type") or "unknown"),
        scope=SCOPE,
        gold={"moment": tuple(show_moment(one, None) for one in targets)},
        answer=letter,
        asked_at=show_moment(asked[0], None),
        known={"choices": choices, "asked_ms": asked[0], "target_ms": targets},
        left_out=left_out,
    )
    problems = [f"Question {name}: {left_out}; its retrieval is not scored."] if left_out else []
    if letter not in choices:
        problems.append(f"Question {name}: the answer {raw.get('answer')!r} is none of its choices.")
    return question, problems


def _fault(given: Any, targets: Sequence[int], asked: int) -> str:
    if not targets:
        return f"target_time {given!r} is no time" if given else "it has no target_time"
    late = [show_moment(one, None) for one in targets if one > asked]
    return f"its target {late[0]} comes after {show_moment(asked, None)}, when it is asked" if late else ""


def moments(given: Any) -> list[int]:
    """The moments of a `query_time` or `target_time` in milliseconds, in order; none when one cannot be read."""
    try:
        return sorted(set(_moments(given)))
    except (TypeError, ValueError, KeyError):
        return []


def _moments(given: Any) -> Iterator[int]:
    if isinstance(given, list):
        for one in given:
            yield from _moments(one)
        return
    day = _day_ms(given["date"])
    for one in given["time_list"] if given.get("time_list") else [given["time"]]:
        chain = str(one).strip()
        head = _CHAINED.split(chain)[0]
        if head:
            yield day + _clock_ms(head)
        for other, clock in _CHAINED.findall(chain):
            yield FIRST_DAY_MS + (int(other) - 1) * DAY_MS + _clock_ms(clock)


def _day_ms(date: Any) -> int:
    found = _DAY.fullmatch(date)
    if found is None or int(found[1]) < 1:
        raise ValueError(date)
    return FIRST_DAY_MS + (int(found[1]) - 1) * DAY_MS


def _clock_ms(digits: str) -> int:
    """HHMMSS and two digits more, which are dropped; a leading zero may be missing."""
    if not digits.isdigit() or len(digits) > 8:
        raise ValueError(digits)
    time = clock_ms(int(digits.zfill(8)[:6]))
    if time is None:
        raise ValueError(digits)
    return time
