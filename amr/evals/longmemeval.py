"""`longmemeval`: 500 questions, each to a haystack of dated chat sessions between a user and an assistant.

Measured are the sessions and the turns found for a question, with no model (`longmemeval_scoring`), by the memory and
by plain search, over all that was said and over the user's words alone (`longmemeval_rankers`). With --pooled all
questions are asked of one haystack of evidence sessions (`longmemeval_pooled`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from amr.errors import BadInput
from amr.evals.chat_run import ChatRun
from amr.evals.files import find_data
from amr.evals.longmemeval_pooled import EVIDENCE, SCOPE, pooled_files, read_pool, write_chat
from amr.evals.longmemeval_questions import TYPES, Record, dated_later, read_records
from amr.evals.longmemeval_rankers import rankers
from amr.evals.longmemeval_scoring import CUTS, UNITS, first_rank, hits_of
from amr.evals.questions import EvalQuestion, listed
from amr.evals.report import Report
from amr.evals.retrieval import PlainSearch, memory_ranker
from amr.evals.run import Options, Run
from amr.evals.tally import Hit
from amr.media.chats import Haystack, Turn
from amr.media.lines import inner_suffix

URL = "https://huggingface.co/datasets/xiaowu0162/longmemeval-cleaned"
TAKES = frozenset({"retrieval_only", "oracle", "pooled", "model", "judge", "max_cost"})
HEADLINE = (
    *("session_recall@5.any", "session_recall@5.all", "session_recall@10.all", "turn_recall@10.all"),
    *("accuracy", *(f"accuracy.{kind}" for kind in (*TYPES, "abstention"))),
)
_NAMES = ("longmemeval_s*.json*", "longmemeval_m*.json*", "longmemeval_oracle*.json*")
_RANKS_TOLD = 10


def check(options: Options) -> Options:
    """The options with the file of questions, or with --pooled the folder. Raises BadInput when there is none."""
    what = "the folder with LongMemEval's evidence" if options.pooled else "LongMemEval (longmemeval_s_cleaned.json)"
    names = [EVIDENCE] if options.pooled else _NAMES
    data = find_data(options.data, "longmemeval", names, what, URL)
    if options.pooled:
        pooled_files(data)
        return replace(options, data=data)
    return replace(options, data=_in_folder(data) if data.is_dir() else data)


def _in_folder(folder: Path) -> Path:
    """The file of questions and haystacks in a folder: s, else m, else oracle."""
    found = [file for name in _NAMES for file in sorted(folder.glob(name)) if inner_suffix(file) in (".json", ".jsonl")]
    if not found:
        raise BadInput(f"{folder} holds no {_NAMES[0]}; --data takes LongMemEval as published at {URL}.")
    return found[0]


def run(run: Run) -> Report:
    """Ingests the haystacks, asks the questions and reports."""
    return _pooled(run) if run.options.pooled else _each(run)


# --- a haystack for each question ---------------------------------------------------------------------------


def _each(run: Run) -> Report:
    data = run.options.data
    assert data is not None
    records, problems = _records(data, run.options.limit)
    by_id = _by_id(records, problems)
    questions = [question for question, _ in by_id.values()]
    haystacks = {name: haystack for name, (_, haystack) in by_id.items()}
    run.config(cuts=CUTS, units=UNITS)
    run.notes += [*_notes(questions), *listed(problems)]
    run.ingest(data if run.options.limit is None else _first_records(run, data))
    systems, prepare = rankers(run, haystacks)
    ChatRun(run, haystacks, systems, UNITS, _score, prepare).ask(questions)
    if len(questions) <= _RANKS_TOLD:
        run.notes += _ranks(run, questions)
    return run.report(data, HEADLINE)


def _records(data: Path, limit: int | None) -> tuple[list[Record], list[str]]:
    """The records without their raw form, as many as --limit allows, and what is wrong in them.

    Haystacks share sessions, under different dates: what is said in them is kept once.
    """
    records: list[Record] = []
    problems: list[str] = []
    known: dict[tuple[Turn, ...], tuple[Turn, ...]] = {}
    for record in read_records(data):
        sessions = [replace(one, turns=known.setdefault(one.turns, one.turns)) for one in record.haystack.sessions]
        records.append(replace(record, raw={}, haystack=replace(record.haystack, sessions=tuple(sessions))))
        problems += record.problems
        if len(records) == limit:
            break
    return records, problems


def _by_id(records: Sequence[Record], problems: list[str]) -> dict[str, tuple[EvalQuestion, Haystack]]:
    """The questions that can be asked, each with its haystack; of two with one id the first."""
    found: dict[str, tuple[EvalQuestion, Haystack]] = {}
    for record in records:
        question = record.question
        if question is not None and found.setdefault(question.id, (question, record.haystack))[0] is not question:
            problems.append(f"{question.id}: there are two questions of this id; the first is asked.")
    if not found:
        raise BadInput(f"None of {len(records)} records has a question that can be asked; give LongMemEval from {URL}.")
    return found


def _first_records(run: Run, data: Path) -> Path:
    """A file in the run's folder with the records that --limit leaves."""
    path = run.folder.path / "haystacks.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number, record in enumerate(read_records(data), start=1):
            file.write(json.dumps(record.raw, ensure_ascii=False) + "\n")
            if number == run.options.limit:
                break
    return path


def _score(question: EvalQuestion, unit: str, refs: Sequence[str]) -> Mapping[str, Hit]:
    return hits_of(question, {unit: refs})


def _notes(questions: Sequence[EvalQuestion]) -> list[str]:
    official = sum(bool(one.known["official"]) for one in questions)
    notes = [
        f".official is over the {official} of {len(questions)} questions that the official figures keep: no abstention,"
        " and an answer in a turn of the user. .user searches the user's turns only, as the official retrieval does."
    ]
    later = dated_later(questions)
    if later:
        notes.append(f"{later} questions have sessions dated after them; they are asked as of the latest session.")
    return notes


def _ranks(run: Run, questions: Sequence[EvalQuestion]) -> list[str]:
    """For each of a few questions, where its sessions of evidence were ranked."""
    notes = []
    for question in questions:
        line = run.folder.lines.get(question.id)
        found = line["systems"].get("amr", {}).get("retrieved", {}).get("session", []) if line else []
        ranks = [first_rank(found, [ref]) for ref in question.gold["session"]]
        told = ", ".join("not found" if rank is None else str(rank) for rank in ranks)
        notes.append(f"{question.id}: rank of the evidence among {question.known['sessions']} sessions: {told}.")
    return notes


# --- all questions to one haystack --------------------------------------------------------------------------


def _pooled(run: Run) -> Report:
    data = run.options.data
    assert data is not None
    pool = read_pool(data)
    questions = run.limited(pool.questions)
    run.config(cuts=CUTS, units=UNITS[:2], sessions=len(pool.sessions))
    run.notes += [
        f"One haystack of {len(pool.sessions)} sessions; {pool.shared} sessions stand in the files more than once and"
        " are there once.",
        "No question has an as-of: the sessions belong to different lives, and many are dated after the question.",
        f"{pool.abstentions} questions without an answer are not asked.",
        *listed(pool.problems),
    ]
    path = run.folder.path / "pooled.jsonl"
    write_chat(pool, path)
    run.ingest(path)
    haystacks = {SCOPE: pool.haystack}
    plain = PlainSearch(run, haystacks)
    systems = {"amr": memory_ranker(run), "bm25": plain.bm25, "dense": plain.dense}
    ChatRun(run, haystacks, systems, UNITS[:2], _score, plain.prepare).ask(questions)
    return run.report(data, HEADLINE)
