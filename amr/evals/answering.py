"""A benchmark's questions end to end: a model reads the evidence and answers, a model judges, all of it is paid once.

The reader is `prompts/eval_answer.md`, not `amr ask`. That answers in claims whose every word the evidence must bear
out; what benchmarks ask for is counted, reckoned and concluded from it, and would be left out as not borne out.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amr.errors import ProviderError
from amr.evals.costs import Ledger
from amr.evals.judging import PROMPTS, Judge, judge_answer, why_unjudged
from amr.evals.questions import EvalQuestion
from amr.evals.reading import Shown, answers, asked_when, fitting, last_answer, sessions_of
from amr.models.budget import Budget, BudgetReached
from amr.models.calls import Calls
from amr.models.chat import CallFailed, ChatReply, ChatRequest, ReplyUnusable, Stopped
from amr.models.names import parse_model_name
from amr.models.open import Models
from amr.models.prompts import render
from amr.resources import resource

if TYPE_CHECKING:
    from amr.config import Settings

_READER = "eval_answer"
_VERDICT_TOKENS = 10
"""As the benchmarks' own judges have; a model that thinks before it replies would not come to its verdict."""


@dataclass(frozen=True)
class Outcome:
    """What came of a question: what its line says; the error where the provider is at fault, not the question."""

    line: dict[str, Any]
    provider_error: ProviderError | None = None


def with_models(settings: Settings, model: str | None, judge: str | None) -> Settings:
    """Settings in which these models answer and judge. Raises UsageError when a name is none of a model."""
    roles = dict(settings.roles)
    if model is not None:
        roles["answer"] = roles["answer"].model_copy(update={"model": str(parse_model_name(model))})
    if judge is not None:
        roles["judge"] = roles["judge"].model_copy(update={"model": str(parse_model_name(judge))})
    return settings.model_copy(update={"roles": roles})


def answers_by_model(settings: Settings) -> bool:
    """Whether a model is named that answers."""
    return bool(settings.model_of("answer"))


class Answering:
    """The models of a run, for questions of one benchmark. Safe to use from many threads.

    `calls` is the run's own folder of replies. Raises ProviderError when a model has no key.
    """

    def __init__(self, settings: Settings, calls: Path, benchmark: str, max_cost: float | None = None) -> None:
        self._settings = settings = _judged_by_default(settings)
        self._benchmark = benchmark
        self._models = Models(settings, Calls(calls, "amr eval"), Budget(max_cost))
        self._reader, self._judge = self._models.chat("answer"), self._models.chat("judge")
        thinks = self._judge.capabilities.reasoning_effort
        self._verdict_tokens = settings.roles["judge"].max_tokens if thinks else _VERDICT_TOKENS

    def config(self) -> dict[str, Any]:
        """What the answers and verdicts are made with, the prompts as they are on disk."""
        return {
            "answer_model": self._reader.name,
            "judge_model": self._judge.name,
            "temperature": 0,
            "answer_max_tokens": self._settings.roles["answer"].max_tokens,
            "judge_max_tokens": self._verdict_tokens,
            **self._settings.eval.model_dump(),
            "prompts": {name: _prompt_file(name) for name in (_READER, *PROMPTS[self._benchmark])},
        }

    def ask(
        self, question: EvalQuestion, evidence: Sequence[Shown], before: Mapping[str, Any] | None = None
    ) -> Outcome:
        """Has a question answered from evidence, given best first, and the answer judged.

        `before` is what an earlier line has of the same question, which this one is to stand in for: what that one
        paid for stays paid. A question that fails, or whose answer could not be judged, is told so in its line. Raises
        BudgetReached, and Stopped after `close`.
        """
        ledger, started = Ledger(before), time.monotonic()
        why = why_unjudged(self._benchmark, question)
        if why:
            return Outcome({"failed": why, "usage": ledger.usage(), "seconds": 0.0})
        wanted = self._settings.eval
        shown = fitting(evidence[: wanted.k], wanted.context_tokens)
        line: dict[str, Any] = {"shown": [piece.ref for piece in shown]}
        fault: ProviderError | None = None
        try:
            reply = self._read(question, shown, ledger)
            line |= {"reply": reply, "answer": last_answer(reply)}
            effort = self._settings.roles["judge"].reasoning_effort
            judge = Judge(self._judge, ledger, self._verdict_tokens, effort)
            judged = judge_answer(self._benchmark, question, line["answer"], judge)
            line |= {"verdicts": judged.verdicts, "hits": judged.hits}
        except (BudgetReached, Stopped):
            raise
        except ProviderError as error:
            line["failed"] = str(error)
            fault = None if isinstance(error, CallFailed) else error
        return Outcome({**line, "usage": ledger.usage(), "seconds": round(time.monotonic() - started, 3)}, fault)

    def close(self) -> None:
        """Ends the waits of the calls under way."""
        self._models.stop.set()

    def _read(self, question: EvalQuestion, shown: Sequence[Shown], ledger: Ledger) -> str:
        """The reader's reply. One that is cut off is asked for again with twice the room."""
        prompt = render(
            _READER,
            question=question.question,
            asked_at=asked_when(question.known.get("question_date") or question.asked_at),
            sessions=sessions_of(shown),
            choices=dict(question.known.get("choices") or {}),
            brief=self._benchmark == "locomo",
        )
        role = self._settings.roles["answer"]
        request = ChatRequest(
            role="answer",
            prompt=prompt.name,
            prompt_hash=prompt.hash,
            text=prompt.text,
            max_tokens=role.max_tokens,
            reasoning_effort=role.reasoning_effort,
        )
        reply = ledger.complete(self._reader, request)
        if _whole(reply):
            return reply.text
        again = replace(request, max_tokens=2 * role.max_tokens)
        second = ledger.complete(self._reader, again)
        if not _whole(second) and not answers(second.text):
            self._reader.discard(request)
            self._reader.discard(again)
            raise ReplyUnusable(
                f"The reply of {self._reader.name} ended before its answer, also when asked again"
                f" ({second.finish_reason}).",
                second.text,
            )
        return second.text


def _whole(reply: ChatReply) -> bool:
    return reply.finish_reason not in ("length", "content_filter")


def _judged_by_default(settings: Settings) -> Settings:
    """Where no judge is named, the model that answers judges, with its key."""
    if settings.model_of("judge"):
        return settings
    answer, judge = settings.roles["answer"], settings.roles["judge"]
    same = judge.model_copy(update={"model": answer.model, "api_key": judge.api_key or answer.api_key})
    return settings.model_copy(update={"roles": {**settings.roles, "judge": same}})


def _prompt_file(name: str) -> dict[str, str]:
    data = (resource("prompts") / f"{name}.md").read_bytes()
    return {"sha256": hashlib.sha256(data).hexdigest(), "text": data.decode()}
