"""`epic`: questions on the narrations of EPIC-KITCHENS-100, one video at a time; the gold is made by `epic_gold`.

Beside the baselines stands `lookup`, which may read the lists of the verb and noun classes: it answers with the last
line of the video that has a word of the verb's class and a name of the noun's. It has what the tool must do
without, and answers "when did I last put X" nearly by definition, so that kind says little of a tool.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from amr.errors import BadInput
from amr.evals.asking import Asked, Reply, System, memory_system
from amr.evals.baselines import Unit, reply_of
from amr.evals.epic_gold import Narration, Question, make_questions, read_narrations
from amr.evals.files import find_data, read_rows, required
from amr.evals.report import Report
from amr.evals.run import Options, Run
from amr.evals.tally import Hits
from amr.language.lemmas import lemma, singular

WHERE_TO_GET = (
    "https://github.com/epic-kitchens/epic-kitchens-100-annotations, with EPIC_100_verb_classes.csv and"
    " EPIC_100_noun_classes.csv beside it"
)
_CLASSES = "EPIC_100_{}_classes.csv"
_NEAR_MS = 2000
_SAME_MS = 20
_CLOCK = re.compile(r"\b(\d{1,2}):(\d{2}):(\d{2})\b")
_COUNTS = {
    "no": 0, "never": 0, "zero": 0, "once": 1, "one": 1, "twice": 2, "two": 2, "three": 3, "four": 4, "five": 5,
    "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_NUMBER = re.compile(rf"\b(\d+|{'|'.join(_COUNTS)})\b")


TAKES: frozenset[str] = frozenset()


def check(options: Options) -> Options:
    """The options with the data that they do not name. Raises BadInput when a file is missing."""
    names = ("EPIC_100_validation.csv", "EPIC_100_validation.csv.gz")
    data = find_data(options.data, "epic", names, "a CSV of narrations", WHERE_TO_GET)
    for name in ("verb", "noun"):
        _classes_file(data, name)
    return replace(options, data=data)


def run(run: Run) -> Report:
    """Ingests the narrations, asks the questions and reports."""
    data = run.options.data
    assert data is not None
    narrations = read_narrations(data)
    questions = _limited(make_questions(narrations), run.options.limit)
    run.config(
        questions_per_kind_and_video=5,
        baselines={"k": 10, "bm25+recency": "1/(60+rank)+1/(60+rank by time) over the first 50"},
    )
    run.ingest(data)
    asked = [(_known(i, one), Asked(one.text, source=one.video)) for i, one in enumerate(questions)]
    under_test = memory_system(run.memory, run.settings, run.options.without)
    plain = run.baselines([_unit(one) for one in narrations], "narrations").systems()
    systems = {
        "amr": under_test,
        "bm25": plain["bm25"],
        "bm25+recency": plain["bm25+recency"],
        "lookup": lookup(narrations, questions, data),
    }

    def score(known: Mapping[str, Any], reply: Reply, hits: Hits) -> dict[str, Any]:
        question = questions[known["id"]]
        right = judge(question, reply)
        name = f"accuracy.{question.kind}"
        hits.add(f"{name}.paraphrased" if question.paraphrased else name, right)
        return {"right": right}

    run.ask_all(asked, systems, score)
    run.notes.append("last_put has no bar: a look-up of the last line with the right words answers it by itself.")
    return run.report(data)


def _limited(questions: Sequence[Question], limit: int | None) -> list[Question]:
    """The first so many questions of each kind, paraphrased ones apart."""
    taken: dict[tuple[str, bool], list[Question]] = {}
    for one in questions:
        taken.setdefault((one.kind, one.paraphrased), []).append(one)
    return [one for several in taken.values() for one in several[:limit]]


def _known(number: int, question: Question) -> dict[str, Any]:
    return {
        "id": number,
        "set": question.kind,
        "paraphrased": question.paraphrased,
        "video": question.video,
        "gold": [{"narration_id": one.id, "text": one.text, "t_start": one.start_ms / 1000} for one in question.gold],
        "count": question.count if question.kind == "how_many" else None,
    }


def _unit(narration: Narration) -> Unit:
    return Unit(narration.text, narration.start_ms, narration.end_ms, narration.video, narration.id)


# --- judging ------------------------------------------------------------------------------------------------


def judge(question: Question, reply: Reply) -> bool:
    """Whether a reply is right, by the rules of `epic_gold`."""
    if not reply.get("found"):
        return False
    answer = str(reply.get("answer", ""))
    if question.kind == "right_after":
        return any(_rests_on(reply, one) and _has_words(answer, one.text) for one in question.gold)
    if question.kind == "how_many":
        return number_in(answer) == question.count
    if question.kind == "named_place":
        return any(_has_words(answer, place.head) for one in question.gold for place in one.places)
    said = _first_clock(answer)
    return said is not None and any(abs(said - one.start_ms) <= _NEAR_MS for one in question.gold)


def _rests_on(reply: Reply, gold: Narration) -> bool:
    """Whether the first claim of a reply, or its first evidence where there are no claims, is a narration."""
    evidence = reply.get("evidence", [])
    claims = reply.get("claims") or []
    first = [piece for piece in evidence if claims and piece.get("node_id") in claims[0]["evidence"]]
    return any(
        piece.get("source") == gold.video and abs(1000 * (piece.get("t_start") or 0) - gold.start_ms) <= _SAME_MS
        for piece in (first or evidence[:1])
    )


def _has_words(answer: str, text: str) -> bool:
    said = _singulars(answer)
    return all(word in said for word in _singulars(text))


def _singulars(text: str) -> frozenset[str]:
    return frozenset(singular(word) for word in re.findall(r"[^\W_]+", text.lower()))


def number_in(answer: str) -> int | None:
    """The first number in an answer, clock times aside; None when there is none."""
    found = _NUMBER.search(_CLOCK.sub(" ", answer.lower()))
    if found is None:
        return None
    return int(found[1]) if found[1].isdigit() else _COUNTS[found[1]]


def _first_clock(answer: str) -> int | None:
    found = _CLOCK.search(answer)
    return None if found is None else (int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3])) * 1000


# --- the look-up --------------------------------------------------------------------------------------------


def lookup(narrations: Sequence[Narration], questions: Sequence[Question], data: Path) -> System:
    """The reference that reads the class lists."""
    verbs, nouns = _instances(data, "verb"), _instances(data, "noun")
    asked = {(one.video, one.text): one for one in questions}
    lines: dict[str, list[Narration]] = {}
    for narration in narrations:
        lines.setdefault(narration.video, []).append(narration)

    def answer(one: Asked) -> Reply:
        question = asked[one.source or "", one.question]
        doing = [name for verb in question.verbs for name in verbs[verb]]
        things = nouns[question.noun.number]
        last = next((line for line in reversed(lines[question.video]) if _matches(line, doing, things)), None)
        return reply_of([_unit(last)] if last else [], one)

    return answer


def _matches(line: Narration, doing: Sequence[frozenset[str]], things: Sequence[frozenset[str]]) -> bool:
    words = re.findall(r"[^\W_]+", line.text.lower())
    said = {*words, *map(singular, words), *map(lemma, words)}
    return any(name <= said for name in doing) and any(name <= said for name in things)


def _instances(data: Path, kind: str) -> dict[int, list[frozenset[str]]]:
    """The names of every class, each as its words. Raises BadInput."""
    path = _classes_file(data, kind)
    try:
        return {
            int(row["id"]): [frozenset(re.split(r"[:\-]", str(name))) for name in ast.literal_eval(row["instances"])]
            for row in read_rows(path, ("id", "instances"))
        }
    except (ValueError, SyntaxError, TypeError) as error:
        raise BadInput(f"{path} cannot be read ({error}); copy it again.") from error


def _classes_file(data: Path, kind: str) -> Path:
    plain = data.absolute().parent / _CLASSES.format(kind)
    packed = plain.with_name(f"{plain.name}.gz")
    return packed if packed.is_file() else required(plain, "--data", f"a CSV with {plain.name} beside it", WHERE_TO_GET)
