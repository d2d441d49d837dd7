"""`egolife-text`: a week of one person's life, 30-second clips with captions and transcript, and questions to it.

Three sets are asked, each as of its own time:

- the authored questions (`--questions`), judged by the rules of `week_scoring`, by type, and apart for DAY1–4 and
  DAY5–7 of the question's time;
- generated ones (`unmentioned`): about what the week never mentions or mentions only later (`false_found`), and
  about lines that are there (`found_rate`, together with the authored questions that have an answer);
- the object questions of A3_TASHA (`object_letters`), where `--mcq` names them or they lie beside the questions.

The baselines of `baselines` answer the same questions over the same lines; a line counts as seen when it has ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from amr.errors import BadInput
from amr.evals import object_letters, unmentioned
from amr.evals.asking import Asked, Reply, System, memory_system
from amr.evals.baselines import Unit
from amr.evals.files import read_objects, required
from amr.evals.report import Report
from amr.evals.run import Options, Run
from amr.evals.tally import Hits
from amr.evals.week import read_week
from amr.evals.week_scoring import judge, moment, supports_of
from amr.retrieve.times import parse_time, show_moment

TYPES = ("where_last", "who", "what", "when", "before_after", "how_often", "habit", "what_said", "abstain")
WHERE_TO_GET = (
    "EgoLife's A1_JAKE clips with captions and transcript, one JSON object per clip, from"
    " https://huggingface.co/datasets/lmms-lab/EgoLife; it may lie anywhere"
)
MCQ_NAME = "A3_TASHA_mcq"

_KEYS = {"id": str, "type": str, "question": str, "answer": str, "query_time": dict, "support": list}
_CUTS = (1, 5, 10)
_NEVER, _LATER, _ANSWERABLE = 100, 40, 100
_DEVELOPMENT = ("DAY1", "DAY2", "DAY3", "DAY4")


TAKES = frozenset({"questions", "mcq"})


def check(options: Options) -> Options:
    """The options with the object questions that lie beside the others. Raises BadInput when a file is missing."""
    required(options.data, "--data", "the clips of the week (.jsonl, .jsonl.gz)", WHERE_TO_GET)
    questions = required(
        options.questions, "--questions", "the questions on the week (.json)", "a list as in the README"
    )
    if options.mcq is not None:
        required(options.mcq, "--mcq", "the object questions (.json, .json.gz)", "A3_TASHA's, as published")
    return replace(options, mcq=options.mcq or _beside(questions))


def run(run: Run) -> Report:
    """Ingests the week, asks the three sets and reports."""
    options = run.options
    data, questions = options.data, options.questions
    assert data is not None and questions is not None
    authored = _authored(questions)
    units = read_week(data)
    run.config(
        generated={"never": _NEVER, "later": _LATER, "answerable": _ANSWERABLE},
        baselines={"k": 10, "bm25+recency": "1/(60+rank)+1/(60+rank by time) over the first 50"},
    )
    run.ingest(data)
    systems = _systems(run, units)
    run.ask_all(run.limited(authored), systems, _score_authored)
    run.ask_all(_generated(run, units), systems, _score_made)
    if options.mcq is not None:
        object_letters.ask(run, options.mcq)
    return run.report(data)


def _beside(questions: Path) -> Path | None:
    return next(iter(sorted(questions.absolute().parent.glob(f"{MCQ_NAME}*.json*"))), None)


def _systems(run: Run, units: list[Unit]) -> dict[str, System]:
    under_test = memory_system(run.memory, run.settings, run.options.without)
    return {"amr": under_test, **run.baselines(units, "week").systems()}


# --- authored questions -------------------------------------------------------------------------------------


def _authored(path: Path) -> list[tuple[dict[str, Any], Asked]]:
    """The questions of a file, in its order. Raises BadInput when one cannot be understood."""
    found = []
    for number, question in enumerate(read_objects(path, _KEYS), start=1):
        place = f"{path}, question {number}"
        if question["type"] not in TYPES:
            raise BadInput(f"{place}: there is no type {question['type']!r}; there are: {', '.join(TYPES)}.")
        try:
            day, clock = question["query_time"]["date"], str(question["query_time"]["time"])
            at = moment(day, clock)
            supports_of(question)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BadInput(f"{place}: its time or support is not as it should be ({error}); correct it.") from error
        as_of = f"{day} {at:%H:%M:%S}"
        known = {"set": "authored", **question, "question": question["question"]}
        found.append((known, Asked(question["question"], as_of, parse_time(as_of, [], end_of_day=True))))
    return found


def _score_authored(question: Mapping[str, Any], reply: Reply, hits: Hits) -> dict[str, Any]:
    verdict = judge(question, reply)
    kind = str(question["type"])
    part = "day1-4" if question["query_time"]["date"] in _DEVELOPMENT else "day5-7"
    hits.add("answer_accuracy", verdict.right, [part])
    hits.add(f"answer_accuracy.{kind}", verdict.right, [part])
    if kind == "where_last":
        hits.add("stale.where_last", verdict.stale, [part])
    if question["support"]:
        for k in _CUTS:
            hits.add(f"support_recall@{k}", verdict.supported(k), [part])
            if k == _CUTS[-1]:
                hits.add(f"support_recall@{k}.{kind}", verdict.supported(k))
    if kind != "abstain":
        hits.add("found_rate", verdict.found, ["authored"])
    return {
        "right": verdict.right,
        "stale": verdict.stale,
        "found": verdict.found,
        "support_rank": verdict.support,
    }


# --- generated questions ------------------------------------------------------------------------------------


def _generated(run: Run, units: list[Unit]) -> list[tuple[dict[str, Any], Asked]]:
    if not units:
        return []
    absent = unmentioned.unanswerable(units, _NEVER, _LATER)
    made = [*run.limited(absent), *run.limited(unmentioned.answerable(units, _ANSWERABLE))]
    return [
        (
            {"set": "generated", "id": f"{one.kind}-{number}", "kind": one.kind},
            Asked(one.question, show_moment(one.as_of_ms, None), one.as_of_ms),
        )
        for number, one in enumerate(made, start=1)
    ]


def _score_made(question: Mapping[str, Any], reply: Reply, hits: Hits) -> dict[str, Any]:
    found = bool(reply.get("found"))
    if question["kind"] == "answerable":
        hits.add("found_rate", found, ["generated"])
        return {"right": found, "found": found}
    hits.add("false_found", found, [str(question["kind"])])
    return {"right": not found, "found": found}
