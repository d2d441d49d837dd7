"""LoCoMo's questions with the ids of their evidence, and what an audit found wrong in them.

The categories go by the numbers in the data, with the names of the authors' own code: 1 multi-hop, 2 temporal,
3 open-domain, 4 single-hop, 5 adversarial. Evidence is every `D<session>:<turn>` in the strings of `evidence` ("D8:6;
D9:17" are two) that is the id of a turn; where none is, retrieval of the question is not scored.

The audit is errors.json of https://github.com/dial481/locomo-audit, a list of `{"question_id": "locomo_0_qa12",
"question", "error_type", "cited_evidence", "correct_evidence", …}`, or the same lists by `sample_id`. A question is
found by its words and its number in the conversation.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from amr.errors import BadInput
from amr.evals.files import read_text
from amr.evals.questions import EvalQuestion, QuestionSet
from amr.media.chats import Haystack

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
ANSWERABLE = "1-4"
SOUND = "sound_evidence"
"""The questions whose evidence the audit left standing."""

_ID = re.compile(r"D\d+:\d+")
_WRONG_CITATION = "WRONG_CITATION"


def read_questions(path: Path, haystacks: Sequence[Haystack]) -> QuestionSet:
    """The questions of a file, conversation by conversation; `haystacks` are its conversations in the same order.

    Raises BadInput when it is no list of conversations, or two have the same name.
    """
    found = QuestionSet()
    for name, times in Counter(one.name for one in haystacks).items():
        if times > 1:
            raise BadInput(f"{path} has {times} conversations named {name}; give each a 'sample_id' of its own.")
    for conversation, haystack in zip(_read_json(path), haystacks, strict=True):
        name = haystack.name
        turns = {turn.ref: session.ref for session in haystack.sessions for turn in session.turns}
        given = conversation.get("qa")
        if not isinstance(given, list):
            found.problems.append(f"{name} has no list of questions ('qa').")
            continue
        for number, one in enumerate(given):
            _add(found, f"{name}:{number}", name, one, turns)
    return found


def _read_json(path: Path) -> list[dict[str, Any]]:
    try:
        value = json.loads(read_text(path))
    except ValueError as error:
        raise BadInput(f"{path} is not valid JSON ({error}); copy it again.") from error
    conversations = value if isinstance(value, list) else [value]
    if not all(isinstance(one, dict) for one in conversations):
        raise BadInput(f"{path} is no list of conversations; give locomo10.json as it was published.")
    return conversations


def _add(found: QuestionSet, name: str, scope: str, given: Any, turns: Mapping[str, str]) -> None:
    wrong = _fault(given)
    if wrong:
        found.problems.append(f"Question {name} is not asked: {wrong}.")
        return
    category = CATEGORIES[given["category"]]
    cited = [str(one) for one in given.get("evidence") or []]
    gold, lost = _evidence(cited, turns)
    left_out = "" if gold else f"no id of its evidence {cited} is that of a turn" if cited else "it has no evidence"
    if left_out:
        found.problems.append(f"Retrieval for question {name} ({category}) is not scored: {left_out}.")
    elif lost:
        said = ", ".join(map(repr, lost))
        found.problems.append(f"Question {name} ({category}) goes by its other evidence: {said} is no turn.")
    if given["category"] != 5 and given.get("answer") in (None, ""):
        found.problems.append(f"Question {name} ({category}) has no 'answer': only its retrieval can be scored.")
    found.questions.append(
        EvalQuestion(
            id=name,
            question=given["question"],
            category=category,
            scope=scope,
            gold={"turn": gold, "session": tuple(dict.fromkeys(turns[ref] for ref in gold))},
            answer=str(given.get("answer", "")),
            known=_known(given),
            groups=(category, *([ANSWERABLE] if given["category"] != 5 else [])),
            left_out=left_out,
        )
    )


def _fault(given: Any) -> str:
    if not isinstance(given, dict):
        return "it is no JSON object"
    if not isinstance(given.get("question"), str) or not given["question"].strip():
        return "it has no 'question'"
    if given.get("category") not in CATEGORIES:
        return f"its category is {given.get('category')!r}, none of 1 to 5"
    if not isinstance(given.get("evidence") or [], list):
        return "its 'evidence' is no list"
    return ""


def _known(given: Mapping[str, Any]) -> dict[str, Any]:
    tempting = given.get("adversarial_answer")
    return {} if tempting is None else {"adversarial_answer": str(tempting)}


def _evidence(cited: list[str], turns: Mapping[str, str]) -> tuple[tuple[str, ...], list[str]]:
    """The turns that some strings name, and the strings, or ids in them, that name none."""
    named: dict[str, None] = {}
    lost = []
    for text in cited:
        ids = _ID.findall(text)
        lost += [one for one in ids if one not in turns] or ([] if ids else [text])
        named.update(dict.fromkeys(one for one in ids if one in turns))
    return tuple(named), lost


# --- the audit ----------------------------------------------------------------------------------------------


def audit_beside(data: Path) -> Path | None:
    """The audit that lies beside the data, where there is one."""
    return next(iter(sorted(data.absolute().parent.glob("audit_errors*.json*"))), None)


def with_audit(found: QuestionSet, path: Path | None) -> QuestionSet:
    """The questions, those of sound evidence in a group of their own, and those with an error told so in their line.

    `gold_error` names an error of the answer, `citation_error` one of the evidence. Without an audit nothing changes.
    Raises BadInput.
    """
    if path is None:
        return found
    errors, problems = _errors(path, found.questions)
    questions = []
    for one in found.questions:
        error = errors.get(one.id)
        wrong = error is not None and set(error["cited_evidence"]) != set(error["correct_evidence"])
        groups = one.groups if wrong else (*one.groups, SOUND, *(f"{group}.{SOUND}" for group in one.groups))
        questions.append(replace(one, known={**one.known, **_told(error, wrong)}, groups=groups))
    return QuestionSet(questions, [*found.problems, *problems])


def _told(error: Mapping[str, Any] | None, wrong_evidence: bool) -> dict[str, str]:
    if error is None:
        return {}
    kind = str(error["error_type"])
    told = {"citation_error": kind} if wrong_evidence else {}
    return told if kind == _WRONG_CITATION else {**told, "gold_error": kind}


def _errors(path: Path, questions: Sequence[EvalQuestion]) -> tuple[dict[str, Mapping[str, Any]], list[str]]:
    """The errors by question, and a sentence on those that no question has. Raises BadInput."""
    named: dict[tuple[str, str], list[str]] = {}
    for one in questions:
        named.setdefault((one.id.rpartition(":")[2], one.question), []).append(one.id)
    found: dict[str, Mapping[str, Any]] = {}
    absent = 0
    try:
        given = json.loads(read_text(path))
        lists = [given] if isinstance(given, list) else list(given.values())
        for error in (error for errors in lists for error in errors):
            list(error["cited_evidence"]), list(error["correct_evidence"]), str(error["error_type"])
            number = error["question_id"].rpartition("_qa")[2]
            ids = named.get((number, error["question"]), [])
            found.update(dict.fromkeys(ids, error))
            absent += not ids
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{path} is no audit of LoCoMo ({error!r}); give another --audit, or none.") from error
    return found, [f"Of the audit's errors {absent} are about questions that are not here."] if absent else []
