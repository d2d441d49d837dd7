"""`beam`: long conversations with an assistant, and two questions to each of ten abilities of a memory.

Measured are the turns and sessions found that a question was made from (`source_chat_ids`): any, all and the fraction
of them at 5, 10, 20 and 50, also by ability, with no model. A question that names none is counted and not scored.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from amr.errors import BadInput
from amr.evals.beam_questions import ABILITIES, questions_of, read_conversations
from amr.evals.chat_run import ChatRun
from amr.evals.files import find_data
from amr.evals.questions import EvalQuestion, QuestionSet, listed
from amr.evals.recall import recall_hits
from amr.evals.report import Report
from amr.evals.retrieval import UNITS, PlainSearch, memory_ranker
from amr.evals.run import Options, Run
from amr.evals.tally import Hit
from amr.media.chats import Haystack

URL = "https://huggingface.co/datasets/Mohammadta/BEAM or https://github.com/mohammadtavakoli78/BEAM"
TAKES = frozenset({"retrieval_only", "oracle", "model", "judge", "max_cost"})
CUTS = (5, 10, 20, 50)
HEADLINE = (
    *("turn_recall@10.fraction", "turn_recall@10.all", "turn_recall@50.all", "session_recall@10.fraction"),
    *("score", *(f"score.{ability}" for ability in ABILITIES)),
)


def check(options: Options) -> Options:
    """The options with the file or folder of conversations. Raises BadInput when there is none."""
    what = "a conversation of BEAM, or a folder of them"
    return replace(options, data=find_data(options.data, "beam", ["chats", "100K*", "*.json*", "*.parquet"], what, URL))


def run(run: Run) -> Report:
    """Ingests the conversations, asks the questions and reports."""
    data = run.options.data
    assert data is not None
    chats = run.folder.path / "conversations.jsonl"
    found, haystacks = _read(data, chats)
    questions = found.first(run.options.limit)
    run.config(cuts=CUTS, conversations=len(haystacks))
    run.notes += [*_notes(questions), *listed(found.problems)]
    run.ingest(chats)
    plain = PlainSearch(run, haystacks)
    systems = {"amr": memory_ranker(run), "bm25": plain.bm25, "dense": plain.dense}
    ChatRun(run, haystacks, systems, UNITS, _score, plain.prepare).ask(questions)
    return run.report(data, HEADLINE)


def _read(data: Path, chats: Path) -> tuple[QuestionSet, dict[str, Haystack]]:
    """The questions and the haystacks by name; `chats` becomes a file of the conversations, one a line."""
    found, haystacks = QuestionSet(), {}
    with chats.open("w", encoding="utf-8") as file:
        for record in _named_once(read_conversations(data), found.problems):
            questions, haystack, problems = questions_of(record)
            found.questions += questions
            found.problems += problems
            haystacks[haystack.name] = haystack
            file.write(json.dumps({"id": record["id"], "chat": record["chat"]}, ensure_ascii=False) + "\n")
    if not found.questions:
        raise BadInput(f"{data} has no question that can be asked; give BEAM as published at {URL}.")
    return found, haystacks


def _named_once(records: Iterator[dict[str, Any]], problems: list[str]) -> Iterator[dict[str, Any]]:
    seen: set[str] = set()
    for record in records:
        if record["id"] in seen:
            problems.append(f"{record['id']}: there are two conversations of this name; the first is asked.")
            continue
        seen.add(record["id"])
        yield record


def _score(question: EvalQuestion, unit: str, refs: Sequence[str]) -> Mapping[str, Hit]:
    if question.left_out:
        return {}
    hits = recall_hits(unit, refs, question.gold[unit], CUTS)
    return hits | {f"{name}.{question.category}": hit for name, hit in hits.items()}


def _notes(questions: Sequence[EvalQuestion]) -> list[str]:
    left_out = Counter(question.category for question in questions if question.left_out)
    if not left_out:
        return []
    told = ", ".join(f"{number} of {ability}" for ability, number in sorted(left_out.items()))
    return [f"{left_out.total()} questions have no source turns to find, and are in no recall: {told}."]
