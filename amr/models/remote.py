"""Models over the wire: chat, embeddings and transcription through the `openai` client.

The client's own retries are off: they are blind to one another, so sixteen threads would each learn of a storm by
themselves and keep it going. What it retries is retried here instead, through one gate per model.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from amr.errors import ProviderError
from amr.models.budget import Budget
from amr.models.capabilities import Capabilities, highest_cost, text_tokens, token_cost
from amr.models.chat import CallFailed, ChatReply, ChatRequest, Stopped, Usage
from amr.models.names import ModelName, key_for
from amr.models.refusals import Refusal, final_error, gave_up, refusal_in_body, refusal_of, remedy_for
from amr.models.throttle import shared_throttle
from amr.models.wire import BrokenReply, JsonOutput, chat_body, provider_preferences, read_reply, read_usage

if TYPE_CHECKING:
    from openai import OpenAI

_T = TypeVar("_T")

_FEWEST_WAITS = 4
_LONGEST_WAIT_S = 60.0
_FIRST_CONTACT_S = 30.0
_CONNECT_S = 10.0


@dataclass(frozen=True)
class Patience:
    """How long a provider is waited for, in seconds."""

    total_s: float = 300.0
    """How long a busy or unreachable provider is asked again before the call gives up."""
    answer_s: float = 180.0
    """The longest silence within one attempt, a slow first byte included."""
    first_wait_s: float = 0.5
    """The wait before the second attempt; it doubles with each further one."""
    tries: int = 5
    """Attempts at a call that fails by itself while the provider is there."""


@dataclass(frozen=True)
class Answer(Generic[_T]):
    """What a call gave, what it used (fruitless attempts included) and how long the last attempt took."""

    value: _T
    usage: Usage
    latency_ms: float


@dataclass(frozen=True)
class Segment:
    """Transcribed words with their times, in seconds from the start of the sound."""

    start: float
    end: float
    text: str


def open_client(name: ModelName, api_key: str | None = None, patience: Patience | None = None) -> OpenAI:
    """The client of a remote model's provider. Raises ProviderError when there is no key."""
    from openai import OpenAI, Timeout

    seconds = (patience or Patience()).answer_s
    client = OpenAI(
        api_key=key_for(name, api_key),
        base_url=name.base_url,  # given, so that OPENAI_BASE_URL has no say
        timeout=Timeout(seconds, connect=min(_CONNECT_S, seconds)),
        max_retries=0,
    )
    if name.provider != "openai":  # it reads these from the environment; they are no business of other servers
        client.organization = client.project = None
    return client


class Remote:
    """One model of one provider: a ChatModel that can also embed and transcribe. Safe to call from many threads."""

    def __init__(
        self,
        name: ModelName,
        capabilities: Capabilities,
        *,
        api_key: str | None = None,
        budget: Budget | None = None,
        patience: Patience | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        self.name = str(name)
        self.capabilities = capabilities
        self._model_name = name
        self._patience = patience or Patience()
        self._client = open_client(name, api_key, self._patience)
        self._key = key_for(name, api_key)
        self._budget = budget or Budget()
        self._stop = stop or threading.Event()
        self._throttle = shared_throttle(name.base_url, name.model)
        self._json_output: JsonOutput = capabilities.json_output

    def complete(self, request: ChatRequest) -> ChatReply:
        """The reply to a request. Raises CallFailed, ProviderError, BudgetReached or Stopped."""
        try:
            answer = self._complete(request)
        except _OtherJson:
            return self.complete(request)
        reply = answer.value
        return ChatReply(reply.text, answer.usage, reply.finish_reason, answer.latency_ms)

    def _complete(self, request: ChatRequest) -> Answer[ChatReply]:
        asked = self._json_output
        body = chat_body(request, self._model_name, self.capabilities, asked)

        def read(response: Any) -> tuple[ChatReply, Usage]:
            reply = read_reply(response, request, self.capabilities)
            return reply, reply.usage

        try:
            return self._answered(
                lambda: self._client.chat.completions.with_raw_response.create(**_typed(body)).text,
                read,
                highest_cost(request, self.capabilities),
                bool(request.media),
            )
        except _OtherJson as refused:
            weaker: JsonOutput | None = {"schema": "object", "object": "none"}.get(asked)  # type: ignore[assignment]
            if weaker is None or request.schema is None:
                raise final_error(refused.refusal, self._model_name, bool(request.media)) from None
            self._json_output = weaker
            raise

    def embed(self, texts: Sequence[str], dimensions: int | None = None) -> Answer[NDArray[np.float32]]:
        """The embeddings [n, dimensions] of at most `capabilities.max_texts` texts, as they came."""
        extra: dict[str, Any] = {}
        if self.capabilities.dialect == "openrouter":
            extra["provider"] = provider_preferences(self.capabilities)
        asked = {"dimensions": dimensions} if dimensions and self.capabilities.chosen_dimensions else {}
        tokens = sum(map(text_tokens, texts))

        def read(response: Any) -> tuple[NDArray[np.float32], Usage]:
            rows = _rows(response, len(texts))
            usage = read_usage(response.get("usage"), self.capabilities)
            return rows, usage or Usage(tokens, 0, token_cost(self.capabilities, tokens, 0))

        return self._answered(
            lambda: (
                self._client.embeddings.with_raw_response.create(
                    model=self._model_name.model,
                    input=list(texts),
                    encoding_format="float",
                    extra_body=extra or None,
                    **_typed(asked),
                ).text
            ),
            read,
            token_cost(self.capabilities, sum(len(text.encode()) for text in texts), 0),
        )

    def transcribe(self, wav: bytes, seconds: float, language: str = "") -> Answer[list[Segment]]:
        """The words in a WAV file of that many seconds; one segment over all of it where the model gives no times."""
        timed = "transcribe" not in self._model_name.model  # OpenAI's newer ones give text only
        minute = self.capabilities.usd_per_audio_minute
        cost = None if minute is None else minute * seconds / 60
        more: dict[str, Any] = {"response_format": "verbose_json" if timed else "json"}
        if timed:
            more["timestamp_granularities"] = ["segment"]
        if language:
            more["language"] = language
        return self._answered(
            lambda: (
                self._client.audio.transcriptions.with_raw_response.create(
                    model=self._model_name.model, file=("clip.wav", wav, "audio/wav"), temperature=0, **_typed(more)
                ).text
            ),
            lambda response: (_segments(response, seconds), Usage(0, 0, cost)),
            cost,
        )

    def listed_prices(self) -> tuple[float, float] | None:
        """Dollars per million input and output tokens by the provider's own list, if it has the model and says so."""
        listed = self._answered(lambda: self._client.models.with_raw_response.list().text, _free, 0.0).value
        for row in listed.get("data") or []:
            if row.get("id") == self._model_name.model and isinstance(row.get("pricing"), dict):
                prices = row["pricing"]
                return float(prices.get("prompt") or 0) * 1e6, float(prices.get("completion") or 0) * 1e6
        return None

    def _answered(
        self,
        send: Callable[[], str],
        read: Callable[[Any], tuple[_T, Usage]],
        highest_usd: float | None,
        has_media: bool = False,
    ) -> Answer[_T]:
        """Sends until there is an answer that can be read, or nothing is left to try."""
        trial = _Trial()
        while True:
            with self._budget.hold(highest_usd, self._stop) as hold, self._throttle.slot(self._stop) as began:
                try:
                    value, usage = self._attempt(send, read)
                except Refusal as refusal:
                    hold.charge(None if refusal.maybe_charged else refusal.usage.cost_usd)
                    trial.note(refusal)
                else:
                    hold.charge(usage.cost_usd if usage.cost_usd is not None else 0.0)
                    self._throttle.succeeded()
                    return Answer(value, usage + trial.wasted, (time.monotonic() - began) * 1000)
                wait_s = self._next_wait(trial, began, has_media)
            if self._stop.wait(wait_s):
                raise Stopped("The run is being stopped.")

    def _attempt(self, send: Callable[[], str], read: Callable[[Any], tuple[_T, Usage]]) -> tuple[_T, Usage]:
        from openai import APIError

        try:
            text = send()
        except APIError as error:
            # Without the cause: it holds the request, and so the key.
            raise refusal_of(error, self._key) from None
        try:
            body = json.loads(text)
        except ValueError:
            raise Refusal("its answer was not JSON", maybe_charged=True) from None
        refused = refusal_in_body(body, self._key)
        if refused is not None:
            raise refused
        try:
            return read(body)
        except BrokenReply as error:
            raise Refusal(str(error), usage=error.usage) from None

    def _next_wait(self, trial: _Trial, began: float, has_media: bool) -> float:
        """How long this call waits before its next attempt. Raises when there is to be none."""
        refusal, patience = trial.last, self._patience
        remedy = remedy_for(refusal)
        if remedy == "other_json":
            raise _OtherJson(refusal)
        if remedy == "none":
            raise final_error(refusal, self._model_name, has_media) from None
        asked = refusal.retry_after_s
        if asked is not None and asked > patience.total_s:
            raise ProviderError(
                f"The provider asks to wait {asked / 60:.0f} minutes ({refusal.status}: {refusal.what}); "
                "run the same command again then to go on from here."
            )
        elapsed = time.monotonic() - trial.first_failed_at
        if remedy == "wait":
            longest_s = min(_LONGEST_WAIT_S, patience.total_s / _FEWEST_WAITS)
            self._throttle.slow_down(began, asked, patience.first_wait_s, longest_s)
            self._give_up_if(elapsed >= self._limit_s(refusal) and trial.tries >= _FEWEST_WAITS, trial)
            return 0.0  # the gate keeps it
        self._give_up_if(elapsed >= patience.total_s or trial.tries >= patience.tries, trial)
        return asked if asked is not None else patience.first_wait_s * 2.0 ** (trial.tries - 1)

    def _limit_s(self, refusal: Refusal) -> float:
        """A server that never answered is more likely misnamed than down."""
        never = refusal.unreachable and not self._throttle.ever_succeeded
        return min(self._patience.total_s, _FIRST_CONTACT_S) if never else self._patience.total_s

    def _give_up_if(self, spent: bool, trial: _Trial) -> None:
        """Ends the run when nobody was answered for long, else this call alone.

        A provider that is there but busy or failing is given twice as long, so that one request which it
        always fails ends as one failed clip.
        """
        if not spent:
            return
        limit_s = self._limit_s(trial.last) * (1 if trial.last.unreachable else 2)
        whole_run = self._throttle.silent_s() >= limit_s
        error = gave_up(trial.last, self._model_name, trial.tries, whole_run)
        if isinstance(error, CallFailed):
            error.usage = trial.wasted
        raise error from None


class _OtherJson(Exception):
    """The model does not take JSON asked for in this way."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal


@dataclass
class _Trial:
    """The fruitless attempts at one call so far."""

    tries: int = 0
    first_failed_at: float = 0.0
    wasted: Usage = field(default_factory=Usage)
    last: Refusal = field(default_factory=lambda: Refusal(""))

    def note(self, refusal: Refusal) -> None:
        self.first_failed_at = self.first_failed_at or time.monotonic()
        self.tries += 1
        self.wasted += refusal.usage
        self.last = refusal


def _typed(body: dict[str, Any]) -> dict[str, Any]:
    """A body as arguments of the client: what it has no argument for goes into `extra_body`."""
    extra = {name: value for name, value in body.items() if name == "provider"}
    plain = {name: value for name, value in body.items() if name != "provider"}
    return {**plain, "extra_body": extra} if extra else plain


def _free(response: Any) -> tuple[Any, Usage]:
    return (response if isinstance(response, dict) else {}), Usage()


def _rows(response: Any, count: int) -> NDArray[np.float32]:
    """The embeddings [count, d] in a response. Raises BrokenReply when they are not all there."""
    data = response.get("data") if isinstance(response, dict) else None
    try:
        ordered = sorted(data or [], key=lambda row: int(row["index"]))
        rows = np.asarray([row["embedding"] for row in ordered], np.float32)
        complete = [row["index"] for row in ordered] == list(range(count))
    except (KeyError, TypeError, ValueError):
        raise BrokenReply("its embeddings could not be read") from None
    if not complete or rows.ndim != 2 or not np.isfinite(rows).all():
        raise BrokenReply(f"it gave {len(ordered)} embeddings for {count} texts")
    return rows


def _segments(response: Any, seconds: float) -> list[Segment]:
    try:
        given = response.get("segments")
        if given is None:
            return [Segment(0.0, seconds, str(response["text"]).strip())] if str(response["text"]).strip() else []
        return [Segment(float(row["start"]), float(row["end"]), str(row["text"]).strip()) for row in given]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise BrokenReply("its transcript could not be read") from None
