"""LongMemEval's evidence sessions, and all sessions of some complete records, as one haystack for all questions.

Two files make it: evidence lines, one question each with its dated sessions cut down to the turns that answer,

    {"question_id", "question_type", "question", "answer", "question_date", "abstention"?,
     "evidence_sessions": [{"session_key", "date", "evidence_turns": [{"role", "content"}]}]}

and complete records in the official format. What is asked: every question that is no abstention and has evidence.

- A session that stands in the files twice is there once: an evidence session whose turns all occur in a session of a
  complete record is that session, whole and under its own id; of evidence sessions with the same turns (sibling
  questions share them, under different dates) the first stands for all. The gold follows.
- No question has an as-of: the sessions belong to different lives, and many are dated after the question.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amr.errors import BadInput
from amr.evals.longmemeval_questions import read_records
from amr.evals.questions import EvalQuestion
from amr.media.chats import Haystack, Session, Turn
from amr.media.json_values import json_values
from amr.media.lines import inner_suffix, opened
from amr.media.longmemeval import wall_time
from amr.retrieve.times import iso_time

SCOPE = "pooled"
WHERE_TO_GET = "a folder with longmemeval_evidence*.jsonl and longmemeval_s_full*.jsonl (.gz of both), or either file"
EVIDENCE, _COMPLETE = "longmemeval_evidence*.json*", "longmemeval_s_full*.json*"
_TEXTS = ("question_id", "question", "question_type")


@dataclass
class Pool:
    """The one haystack and what is asked of it.

    `problems` are sentences on what could not be used as it is. `shared` counts the evidence sessions that were there
    already, `abstentions` the questions that are not asked because they have no answer.
    """

    sessions: dict[str, Session] = field(default_factory=dict)
    questions: list[EvalQuestion] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    shared: int = 0
    abstentions: int = 0

    @property
    def haystack(self) -> Haystack:
        """All sessions under one name."""
        return Haystack(SCOPE, tuple(self.sessions.values()))


def pooled_files(path: Path) -> tuple[list[Path], list[Path]]:
    """The files of evidence and those of complete records, in the folder or beside the file. Raises BadInput."""
    folder = path if path.is_dir() else path.parent
    evidence, complete = (
        [file for file in sorted(folder.glob(name)) if inner_suffix(file) in (".json", ".jsonl")]
        for name in (EVIDENCE, _COMPLETE)
    )
    if not evidence:
        raise BadInput(f"{path} holds no longmemeval_evidence*.jsonl; with --pooled, --data takes {WHERE_TO_GET}.")
    return evidence, complete


def read_pool(path: Path) -> Pool:
    """The haystack and its questions from the files at a path. Raises BadInput."""
    evidence, complete = pooled_files(path)
    pool = Pool()
    saying: dict[str, list[str]] = {}
    from_records = [one for file in complete for one in _add_records(pool, file, saying)]
    known: dict[tuple[str, ...], str] = {}
    for file in evidence:
        for place, raw in _lines(pool, file):
            _add_evidence(pool, place, raw, saying, known)
    asked = {one.id for one in pool.questions}
    pool.questions += [one for one in from_records if one.id not in asked]
    if not pool.questions:
        raise BadInput(f"{evidence[0]} holds no question with evidence; with --pooled, --data takes {WHERE_TO_GET}.")
    return pool


def write_chat(pool: Pool, path: Path) -> None:
    """Writes the haystack as chat JSONL, one turn a line."""
    with path.open("w", encoding="utf-8") as file:
        for session in pool.sessions.values():
            for turn in session.turns:
                row = {
                    "scope": SCOPE,
                    "session": session.ref,
                    "date": None if session.time_ms is None else f"{iso_time(session.time_ms)}Z",
                    "speaker": turn.speaker,
                    "role": turn.role,
                    "text": turn.text,
                    "turn_id": turn.ref,
                }
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _add_records(pool: Pool, file: Path, saying: dict[str, list[str]]) -> Iterator[EvalQuestion]:
    """Takes the sessions of complete records in, and gives their questions; `saying` gets each text's sessions."""
    for record in read_records(file):
        pool.problems += record.problems
        for one in record.haystack.sessions:
            if pool.sessions.setdefault(one.ref, one) is one:
                for turn in one.turns:
                    saying.setdefault(turn.text, []).append(one.ref)
        if record.question and not (record.question.left_out or record.question.known["abstention"]):
            yield _question(record.raw, record.question.gold["session"], record.question.gold["turn"])


def _lines(pool: Pool, file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines of evidence that can be used, each with words for its place; a note for each that cannot."""
    with opened(file) as bytes_of:
        for number, raw in enumerate(json_values(file, bytes_of), start=1):
            place = f"{file.name}, item {number}"
            right = isinstance(raw, dict) and isinstance(raw.get("evidence_sessions"), list)
            if not right and number == 1:
                raise BadInput(f"{place} has no 'evidence_sessions'; with --pooled, --data takes {WHERE_TO_GET}.")
            missing = [key for key in _TEXTS if not isinstance(raw.get(key), str)] if right else ["evidence_sessions"]
            if missing:
                pool.problems.append(f"{place}: {', '.join(missing)} missing; it is not asked.")
            else:
                yield place, raw


def _add_evidence(
    pool: Pool, place: str, raw: dict[str, Any], saying: Mapping[str, list[str]], known: dict[tuple[str, ...], str]
) -> None:
    """Takes the sessions of a line in, and its question unless it is an abstention."""
    name = raw["question_id"]
    refs = [_session(pool, one, place, saying, known) for one in raw["evidence_sessions"]]
    gold = list(dict.fromkeys(ref for ref in refs if ref is not None))
    if raw.get("abstention") is True or name.endswith("_abs"):
        pool.abstentions += 1
    elif None in refs or not gold:
        pool.problems.append(f"{place}: some or all of its evidence cannot be read; {name} is not asked.")
    else:
        texts = {turn["content"].strip() for one in raw["evidence_sessions"] for turn in one["evidence_turns"]}
        turns = [turn.ref for ref in gold for turn in pool.sessions[ref].turns if turn.text in texts]
        pool.questions.append(_question(raw, gold, turns))


def _session(
    pool: Pool, raw: Any, place: str, saying: Mapping[str, list[str]], known: dict[tuple[str, ...], str]
) -> str | None:
    """The ref under which an evidence session is in the pool; None, with a note, when it cannot be read."""
    texts, roles = _said(raw)
    if not texts:
        pool.problems.append(f"{place}: an evidence session has no key or no turns.")
        return None
    there = [ref for ref in saying.get(texts[0], []) if {*texts} <= {turn.text for turn in pool.sessions[ref].turns}]
    ref = there[0] if there else known.setdefault(texts, str(raw["session_key"]))
    if ref in pool.sessions:
        pool.shared += 1
        return ref
    time_ms = wall_time(raw.get("date"))
    if time_ms is None:
        pool.problems.append(f"{place}: session {ref}: the date {raw.get('date')!r} is no date.")
    said = enumerate(zip(texts, roles, strict=True), start=1)
    pool.sessions[ref] = Session(ref, time_ms, tuple(Turn(role, text, f"{ref}_{n}", role) for n, (text, role) in said))
    return ref


def _said(raw: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is said in an evidence session, and in which roles; nothing when one of its turns cannot be read."""
    given = raw.get("evidence_turns") if isinstance(raw, dict) and raw.get("session_key") else None
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        return (), ()
    texts = [one.get("content") for one in given]
    if not all(isinstance(text, str) and text.strip() for text in texts):
        return (), ()
    return tuple(str(text).strip() for text in texts), tuple(str(one.get("role") or "user") for one in given)


def _question(raw: Mapping[str, Any], sessions: Iterable[str], turns: Iterable[str]) -> EvalQuestion:
    return EvalQuestion(
        id=str(raw["question_id"]),
        question=str(raw["question"]).strip(),
        category=str(raw["question_type"]),
        scope=SCOPE,
        gold={"session": tuple(sessions), "turn": tuple(turns)},
        answer=str(raw.get("answer", "")),
        known={"question_date": raw.get("question_date")},
    )
