"""Whether answers to a benchmark's questions are right: by a model, after the rules of each benchmark.

- LongMemEval (`evaluate_qa.py`): one of five prompts by the type of the question; "yes" in the reply is right.
- LoCoMo: a lenient judge (as in mem0's evaluation) and a strict one side by side, and token F1 (`evaluation.py`), over
  the questions that have an answer; of the adversarial ones, whether the answer sees that there is none.
- BEAM (`compute_metrics.py`): each item of the rubric judged 0, 0.5 or 1, the mean of them; for event ordering
  Kendall's tau-b over the lines of the answer, each matched to an event by the judge. `score_halves_as_zero` is for
  comparison with figures of the benchmark's own code, which rounds 0.5 down.
- EgoLifeQA: the letter alone, no judge.

The prompts are in words of our own; the rules in them are the benchmarks'.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from amr.evals.costs import Ledger
from amr.evals.locomo_questions import SOUND
from amr.evals.questions import EvalQuestion
from amr.evals.scores import letter_of, many_answers_f1, order_scores, token_f1
from amr.models.calls import RecordedChat
from amr.models.chat import ChatRequest, ReplyUnusable
from amr.models.prompts import render

_T = TypeVar("_T")

_MOST_RAW = 200
_GRADE = re.compile(r"(?<![\d.])(?:0\.5|[01](?:\.0+)?)(?!\d|\.\d)")
_LONGMEMEVAL = {
    "single-session-user": "judge_longmemeval_general",
    "single-session-assistant": "judge_longmemeval_general",
    "multi-session": "judge_longmemeval_general",
    "temporal-reasoning": "judge_longmemeval_temporal",
    "knowledge-update": "judge_longmemeval_update",
    "single-session-preference": "judge_longmemeval_preference",
}
_ABSTENTION = "judge_longmemeval_abstention"
_LOCOMO = {"judge_lenient": "judge_locomo_lenient", "judge_strict": "judge_locomo_strict"}
_UNANSWERABLE = "judge_locomo_abstention"
_RUBRIC, _SAME_EVENT = "judge_beam_rubric", "judge_beam_same_event"
_AGAIN = "judge_again"
_MARK = re.compile(r"^\W*(?:\d+\s*[.):]\s*)?")

PROMPTS: Mapping[str, tuple[str, ...]] = {
    "longmemeval": (*dict.fromkeys(_LONGMEMEVAL.values()), _ABSTENTION, _AGAIN),
    "locomo": (*_LOCOMO.values(), _UNANSWERABLE, _AGAIN),
    "beam": (_RUBRIC, _SAME_EVENT, _AGAIN),
    "egolife": (),
}
"""The prompts of each benchmark's judge."""


@dataclass(frozen=True)
class Judged:
    """What was said of an answer, for its line, and what it counts for: metrics with values from 0 to 1."""

    verdicts: dict[str, Any]
    hits: dict[str, bool | float] = field(default_factory=dict)


@dataclass(frozen=True)
class Judge:
    """The model that judges one answer, its calls noted in the ledger."""

    chat: RecordedChat
    ledger: Ledger
    max_tokens: int
    reasoning_effort: str = ""

    def agrees(self, prompt: str, question: str, gold: str, answer: str) -> bool:
        """Yes or no to a prompt; a reply with "yes" in it is yes. Raises CallFailed when it is neither."""
        return self._verdict(prompt, {"question": question, "gold": gold, "answer": answer}, _yes_or_no, "yes, no")

    def grades(self, prompt: str, question: str, gold: str, answer: str) -> float:
        """0, 0.5 or 1. Raises CallFailed when it is none of them."""
        return self._verdict(prompt, {"question": question, "gold": gold, "answer": answer}, _grade, "1, 0.5, 0")

    def _verdict(self, prompt: str, values: dict[str, str], read: Callable[[str], _T | None], allowed: str) -> _T:
        rendered = render(prompt, **values)
        request = ChatRequest(
            role="judge",
            prompt=rendered.name,
            prompt_hash=rendered.hash,
            text=rendered.text,
            max_tokens=self.max_tokens,
            reasoning_effort=self.reasoning_effort,
        )
        first = self.ledger.complete(self.chat, request).text
        verdict = read(first)
        if verdict is not None:
            return verdict
        more = render(_AGAIN, raw=" ".join(first[:_MOST_RAW].split()), allowed=allowed)
        again = replace(request, prompt_hash=f"{rendered.hash}+{more.hash}", text=f"{rendered.text}\n\n{more.text}")
        second = self.ledger.complete(self.chat, again).text
        verdict = read(second)
        if verdict is None:
            self.chat.discard(request)
            self.chat.discard(again)
            raise ReplyUnusable(
                f"The judge {self.chat.name} replied with none of {allowed}, nor when asked again"
                f" ({' '.join(second[:_MOST_RAW].split())!r}).",
                second,
            )
        return verdict


def _yes_or_no(reply: str) -> bool | None:
    if "yes" in reply.lower():
        return True
    return False if re.search(r"\bno\b", reply, re.IGNORECASE) else None


def _grade(reply: str) -> float | None:
    found = {float(number) for number in _GRADE.findall(reply)}
    return found.pop() if len(found) == 1 else None


def why_unjudged(benchmark: str, question: EvalQuestion) -> str:
    """Why no answer to a question could be judged, by its data; empty when it can be."""
    if benchmark == "beam":
        return "" if question.known.get("rubric") else "The question has no rubric to judge an answer by."
    if benchmark == "egolife":
        known = question.answer in question.known["choices"]
        return "" if known else f"The gold answer {question.answer!r} is none of the question's choices."
    if benchmark == "longmemeval" and not _abstains(question) and question.category not in _LONGMEMEVAL:
        return f"There is no rule by which answers to questions of the type {question.category} are judged."
    return "" if question.answer or question.category == "adversarial" else "The question has no gold answer."


def judge_answer(benchmark: str, question: EvalQuestion, answer: str, judge: Judge) -> Judged:
    """What the benchmark says of an answer to a question that can be judged. Raises CallFailed, ProviderError."""
    rules = {"longmemeval": _longmemeval, "locomo": _locomo, "beam": _beam, "egolife": _egolife}
    return rules[benchmark](question, answer, judge)


def _told(measure: str, value: bool | float, question: EvalQuestion, *more: str) -> dict[str, bool | float]:
    """A measure, over all questions, over those of the category, and over others of a kind."""
    return {measure: value, **{f"{measure}.{part}": value for part in (question.category, *more)}}


def _longmemeval(question: EvalQuestion, answer: str, judge: Judge) -> Judged:
    abstains = _abstains(question)
    prompt = _ABSTENTION if abstains else _LONGMEMEVAL[question.category]
    right = judge.agrees(prompt, question.question, question.answer, answer)
    return Judged({"right": right}, _told("accuracy", right, question, *(["abstention"] if abstains else [])))


def _abstains(question: EvalQuestion) -> bool:
    return "_abs" in question.id


def _locomo(question: EvalQuestion, answer: str, judge: Judge) -> Judged:
    if question.category == "adversarial":
        tempting = str(question.known.get("adversarial_answer", question.answer))
        saw = judge.agrees(_UNANSWERABLE, question.question, tempting, answer)
        return Judged({"abstained": saw}, {"abstained.adversarial": saw})
    verdicts: dict[str, Any] = {
        name: judge.agrees(prompt, question.question, question.answer, answer) for name, prompt in _LOCOMO.items()
    }
    verdicts["f1"] = round(_locomo_f1(question, answer), 4)
    audited = SOUND in question.groups or "citation_error" in question.known
    sound = ["sound_gold"] if audited and "gold_error" not in question.known else []
    hits: dict[str, bool | float] = {}
    for name, value in verdicts.items():
        hits |= _told(name, value, question, *sound)
    return Judged(verdicts, hits)


def _locomo_f1(question: EvalQuestion, answer: str) -> float:
    if question.category == "multi-hop":
        return many_answers_f1(answer, question.answer)
    gold = question.answer.split(";")[0] if question.category == "open-domain" else question.answer
    return token_f1(answer, gold)


def _beam(question: EvalQuestion, answer: str, judge: Judge) -> Judged:
    rubric = [str(item) for item in question.known["rubric"]]
    grades = [judge.grades(_RUBRIC, question.question, item, answer) for item in rubric]
    mean, floored = sum(grades) / len(grades), sum(grade == 1 for grade in grades) / len(grades)
    if question.category != "event_ordering":
        return Judged({"rubric": grades}, {**_told("score", mean, question), "score_halves_as_zero": floored})
    order, f1 = order_scores(rubric, _matched(rubric, answer, judge))
    hits = {**_told("score", order, question), "score_halves_as_zero": order}
    hits |= {"rubric.event_ordering": mean, "order_f1.event_ordering": f1}
    return Judged({"rubric": grades, "order": round(order, 4), "order_f1": round(f1, 4)}, hits)


def _matched(events: list[str], answer: str, judge: Judge) -> list[str]:
    """The lines of an answer, each replaced by the first event not yet found that the judge says it tells of."""
    left, said = list(dict.fromkeys(events)), []
    for line in filter(str.strip, answer.splitlines()):
        event = next((one for one in left if judge.agrees(_SAME_EVENT, "", one, _MARK.sub("", line))), None)
        if event is not None:
            left.remove(event)
        said.append(line if event is None else event)
    return said


def _egolife(question: EvalQuestion, answer: str, judge: Judge) -> Judged:
    """A reply without a letter is wrong; how many there are is told apart."""
    letter = letter_of(answer, question.known["choices"])
    right = letter == question.answer
    return Judged(
        {"letter": letter, "right": right}, {**_told("letter_accuracy", right, question), "no_letter": not letter}
    )


def prompt_section(prompts: Mapping[str, Mapping[str, str]]) -> str:
    """The prompts, as `Answering.config` gives them, with their hashes, as Markdown for the end of a report."""
    parts = ["## Prompts", ""]
    for name, prompt in prompts.items():
        parts += [f"### {name}", "", f"SHA-256 `{prompt['sha256']}`", "", "````", prompt["text"].rstrip(), "````", ""]
    return "\n".join(parts)
