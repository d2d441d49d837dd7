"""BEAM's conversations and their questions: ten abilities with two each, and the turns that hold the answers.

A conversation is `{"id", "chat": [{"batch_number", "turns": [[message, …]]}], "probing_questions": {ability: […]}}`,
one to a file or many. Read as well (https://github.com/mohammadtavakoli78/BEAM, and the data set of that name):

- the repository's folders, `chats/<size>/<n>/chat.json` with `probing_questions/probing_questions.json` beside it;
- the data set's Parquet (`100K-00000-of-00001.parquet`, named 100K/<n> here as there), where a batch is a plain list
  of messages and the questions are written as Python.

A question's `source_chat_ids` are a list, lists in a list, lists by role, or missing. They are the gold `turn`s; the
gold `session`s are those with such a turn. A question without any is counted and not scored: most are of `abstention`.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from amr.errors import BadInput
from amr.evals.files import read_text
from amr.evals.questions import EvalQuestion
from amr.media.beam import haystack
from amr.media.chats import Haystack
from amr.media.json_values import json_values
from amr.media.lines import inner_suffix, opened

ABILITIES = (
    "abstention", "contradiction_resolution", "event_ordering", "information_extraction", "instruction_following",
    "knowledge_update", "multi_session_reasoning", "preference_following", "summarization", "temporal_reasoning",
)  # fmt: skip
_SUFFIXES = (".json", ".jsonl", ".parquet")
_ANSWERS = ("answer", "ideal_response", "ideal_answer", "ideal_summary", "expected_compliance")
_COLUMNS = ("id", "conversation_id", "chat", "probing_questions")
_ROWS_AT_ONCE = 4
_WHAT = "give a conversation of BEAM, or a folder of them"


def read_conversations(path: Path) -> Iterator[dict[str, Any]]:
    """The conversations of a file or a folder as records with `id`, `chat` and `probing_questions`. Raises BadInput."""
    number = 0
    for file in _files(path):
        for raw in _records(file):
            number += 1
            record = _unwrapped(raw)
            if "chat" not in record:
                raise BadInput(f"{file} is no file of BEAM (there is no 'chat' in it); {_WHAT}.")
            yield {
                **record,
                "id": str(record.get("id") or record.get("conversation_id") or f"conversation-{number}"),
                "chat": [_batch(place, one) for place, one in enumerate(_listed(record["chat"]), start=1)],
                "probing_questions": _parsed(record.get("probing_questions")),
            }
    if not number:
        raise BadInput(f"{path} holds no conversation of BEAM; {_WHAT}.")


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    chats = sorted(path.rglob("chat.json"), key=lambda file: [_ordered(part) for part in file.parts])
    return chats or sorted(file for file in path.iterdir() if inner_suffix(file) in _SUFFIXES)


def _ordered(part: str) -> tuple[int, str]:
    return (int(part), "") if part.isdigit() else (0, part)


def _records(file: Path) -> Iterator[Any]:
    if file.name == "chat.json":
        beside = file.parent / "probing_questions" / "probing_questions.json"
        asked = _json(beside) if beside.is_file() else {}
        yield {"id": "/".join(file.parts[-3:-1]), "chat": _json(file), "probing_questions": asked}
    elif inner_suffix(file) == ".parquet":
        yield from _rows(file)
    else:
        with opened(file) as bytes_of:
            for value in json_values(file, bytes_of):
                rows = value.get("rows") if isinstance(value, dict) else None
                yield from rows if isinstance(rows, list) else [value]


def _json(file: Path) -> Any:
    try:
        return json.loads(read_text(file))
    except ValueError as error:
        raise BadInput(f"{file} is not valid JSON ({error}); copy it again.") from error


def _rows(file: Path) -> Iterator[Any]:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(file) as rows:
            wanted = [name for name in _COLUMNS if name in rows.schema_arrow.names]
            for batch in rows.iter_batches(_ROWS_AT_ONCE, columns=wanted):
                for row in batch.to_pylist():
                    # Each size counts its conversations from 1.
                    yield {**row, "id": row.get("id") or f"{file.name.split('-')[0]}/{row.get('conversation_id')}"}
    except (ArrowException, OSError) as error:
        raise BadInput(f"{file} cannot be read as Parquet ({error}); copy it again.") from error


def _unwrapped(raw: Any) -> dict[str, Any]:
    inner = raw.get("row") if isinstance(raw, dict) else None
    found = inner if isinstance(inner, dict) else raw
    return found if isinstance(found, dict) else {}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _batch(number: int, batch: Any) -> Any:
    """A batch with its turns in sessions: each begins where the user comes with a new matter."""
    if isinstance(batch, list):
        return {"batch_number": number, "turns": _sessions(batch)}
    if isinstance(batch, dict) and any(isinstance(turn, dict) for turn in _listed(batch.get("turns"))):
        return {**batch, "turns": _sessions(batch["turns"])}
    return batch


def _sessions(messages: list[Any]) -> list[Any]:
    if any(isinstance(one, list) for one in messages):
        return messages
    sessions: list[list[Any]] = []
    for one in messages:
        if not sessions or (isinstance(one, dict) and one.get("question_type") == "main_question"):
            sessions.append([])
        sessions[-1].append(one)
    return sessions


def _parsed(questions: Any) -> Any:
    """The questions, which the data set has as text: JSON, or an object as Python writes it."""
    if not isinstance(questions, str):
        return questions
    for read in (json.loads, ast.literal_eval):
        try:
            return read(questions)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return questions


# --- questions ----------------------------------------------------------------------------------------------


def questions_of(record: dict[str, Any]) -> tuple[list[EvalQuestion], Haystack, list[str]]:
    """The questions of a conversation, its haystack, and sentences on what is wrong with either."""
    stack = haystack(record)
    problems = list(stack.problems)
    asked = record.get("probing_questions")
    if not isinstance(asked, dict) or not asked:
        problems.append(f"{stack.name}: 'probing_questions' is missing or no object; nothing is asked.")
        return [], stack, problems
    sessions = {turn.ref: session.ref for session in stack.sessions for turn in session.turns}
    found = []
    for ability, entries in asked.items():
        for number, entry in enumerate(entries if isinstance(entries, list) else [entries], start=1):
            name = f"{stack.name}/{ability}/{number}"
            if not isinstance(entry, dict) or not str(entry.get("question") or "").strip():
                problems.append(f"{name}: there are no words to ask.")
                continue
            question, told = _question(name, stack.name, ability, entry, sessions)
            found.append(question)
            problems += told
    return found, stack, problems


def _question(
    name: str, scope: str, ability: str, entry: dict[str, Any], sessions: dict[str, str]
) -> tuple[EvalQuestion, list[str]]:
    named = list(dict.fromkeys(_ids(entry.get("source_chat_ids"))))
    turns = tuple(ref for ref in named if ref in sessions)
    lost = [ref for ref in named if ref not in sessions]
    problems = [f"{name}: source_chat_ids name turns that are not there: {', '.join(lost)}."] if lost else []
    why = "none of its evidence is in the conversation" if named else "it names no source turns"
    question = EvalQuestion(
        id=name,
        question=str(entry["question"]).strip(),
        category=ability,
        scope=scope,
        gold={"turn": turns, "session": tuple(dict.fromkeys(sessions[ref] for ref in turns))},
        answer=next((str(entry[key]) for key in _ANSWERS if entry.get(key)), ""),
        known={"rubric": [str(one) for one in _listed(entry.get("rubric"))], "difficulty": entry.get("difficulty")},
        left_out="" if turns else why,
    )
    return question, problems


def _ids(given: Any) -> Iterator[str]:
    """The ids in a list, in lists in it, or in lists by role."""
    if isinstance(given, dict):
        given = list(given.values())
    if isinstance(given, list):
        for one in given:
            yield from _ids(one)
    elif given is not None:
        yield str(given)
