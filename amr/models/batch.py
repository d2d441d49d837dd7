"""The Batch API: requests whose replies may take a day, at half the price. Replies end up in the call cache.

A batch under way is noted in the memory before it is created, so that a command that was stopped, or killed at any
instant, goes on waiting for it when it is run again, and submits nothing twice.
"""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from amr.errors import ProviderError
from amr.models.batch_files import CHAT_ENDPOINT, InputFile, Submission, Submissions, input_files, read_results
from amr.models.budget import Budget, Hold
from amr.models.calls import Calls, Recorded, chat_key, content_of, purpose_of, reply_from
from amr.models.capabilities import Capabilities, highest_cost
from amr.models.chat import CallFailed, ChatReply, ChatRequest, Stopped, Usage
from amr.models.names import ModelName, key_for
from amr.models.refusals import Refusal, final_error, gave_up, refusal_in_body, refusal_of, remedy_for
from amr.models.remote import Patience, open_client
from amr.models.wire import BrokenReply, chat_body, read_reply

if TYPE_CHECKING:
    from openai.types import Batch

_T = TypeVar("_T")

Progress = Callable[[int, int], None]
"""Told how many of the requests waited for are answered, and how many there are."""

_PRICE = {"openai": 0.5}
_ENDED = {"completed", "failed", "expired", "cancelled"}
_LONGEST_WAIT_S = 60.0
_FEWEST_TRIES = 4
_CLOCKS_APART_S = 3600


class Batches:
    """The Batch API of one model's provider. `directory` is the memory's `calls/`, the same as that of `calls`.

    Raises ProviderError when the provider has none, or when there is no key.
    """

    def __init__(
        self,
        name: ModelName,
        capabilities: Capabilities,
        calls: Calls,
        directory: Path,
        *,
        api_key: str | None = None,
        budget: Budget | None = None,
        patience: Patience | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        self.name = str(name)
        self._no_batches = (
            f"{name.where[:1].upper()}{name.where[1:]}, which runs {name.model}, has no Batch API; "
            'leave --batch out, or set mode = "direct" for the roles that use it.'
        )
        if name.provider not in ("openai", "server"):
            raise ProviderError(self._no_batches)
        self._model_name = name
        self._capabilities = capabilities
        self._calls = calls
        self._submissions = Submissions(directory)
        self._patience = patience or Patience()
        self._client = open_client(name, api_key, self._patience)
        self._key = key_for(name, api_key)
        self._budget = budget or Budget()
        self._stop = stop or threading.Event()

    def submit_and_wait(
        self, requests: Sequence[ChatRequest], progress: Progress | None = None
    ) -> list[ChatReply | CallFailed]:
        """The reply to each request, or why there is none, in order; every reply is in the call cache by then.

        Requests whose reply is on disk, or that are in a batch under way, are not sent. Waits for all batches of
        this model, those of earlier commands included. Raises Stopped when `stop` is set and ProviderError when the
        provider is away for long (either way a later call goes on waiting), and BudgetReached before anything is
        sent when the new requests could pass the cap.
        """
        by_key = {chat_key(self.name, request): request for request in requests}
        failed: dict[str, CallFailed] = {}
        new = self._new(by_key)
        costs = [highest_cost(request, self._capabilities) for request in new.values()]
        known = [cost for cost in costs if cost is not None]
        most = sum(known) * self._price if len(known) == len(costs) else None
        with self._budget.hold(most, self._stop) as hold:
            self._resume()
            for file in input_files(self._bodies(new, failed)):
                self._submit(file, new)
            self._wait(by_key, failed, hold, progress)
        return [self._outcome(key, failed) for key in (chat_key(self.name, request) for request in requests)]

    @property
    def _price(self) -> float:
        """What part of the usual price a batch costs."""
        return _PRICE.get(self._model_name.provider, 1.0)

    def _new(self, requests: Mapping[str, ChatRequest]) -> dict[str, ChatRequest]:
        """The requests that are to be sent."""
        under_way = {key for entry in self._submissions.of(self.name) for key in entry.requests}
        return {
            key: request for key, request in requests.items() if key not in under_way and self._calls.read(key) is None
        }

    def _bodies(
        self, requests: Mapping[str, ChatRequest], failed: dict[str, CallFailed]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """The bodies of requests, each made when it is its turn; one that cannot be made is noted as failed."""
        for key, request in requests.items():
            try:
                yield key, chat_body(request, self._model_name, self._capabilities)
            except CallFailed as error:
                failed[key] = error

    def _outcome(self, key: str, failed: Mapping[str, CallFailed]) -> ChatReply | CallFailed:
        recorded = self._calls.read(key)
        if recorded is not None:
            return reply_from(recorded)
        return failed.get(key) or CallFailed(f"{self._where} gave no result for this request of a batch.")

    @property
    def _where(self) -> str:
        where = self._model_name.where
        return where[:1].upper() + where[1:]

    # Submitting

    def _submit(self, file: InputFile, requests: Mapping[str, ChatRequest]) -> None:
        uploaded = self._sent(
            lambda: self._client.files.create(file=("requests.jsonl", file.content), purpose="batch"), self._no_batches
        )
        purposes = {key: [requests[key].role, requests[key].prompt, requests[key].prompt_hash] for key in file.ids}
        entry = Submission(uuid.uuid4().hex, self.name, uploaded.id, int(time.time()), purposes)
        self._submissions.keep(entry)
        self._create(entry)

    def _create(self, entry: Submission) -> Submission:
        """Creates the batch of an uploaded file, unless it turns out to have been created before."""

        def create() -> str:
            found = self._find(entry)
            if found is not None:
                return found
            batch = self._client.batches.create(
                input_file_id=entry.input_file,
                endpoint=CHAT_ENDPOINT,
                completion_window="24h",
                metadata={"amr": entry.token},
            )
            return batch.id

        created = replace(entry, batch=self._sent(create, self._no_batches))
        self._submissions.keep(created)
        return created

    def _find(self, entry: Submission) -> str | None:
        """The id of a batch by its token, among those created since the file was uploaded."""
        for batch in self._client.batches.list(limit=100):
            if (batch.metadata or {}).get("amr") == entry.token:
                return batch.id
            if batch.created_at < entry.created_s - _CLOCKS_APART_S:
                break
        return None

    def _resume(self) -> None:
        """Finishes what a killed command began: batches it may not have created, files it did not delete."""
        for entry in self._submissions.of(self.name):
            if not entry.requests:
                self._clean(entry)
            elif not entry.batch:
                self._create(entry)

    # Waiting

    def _wait(
        self, requests: Mapping[str, ChatRequest], failed: dict[str, CallFailed], hold: Hold, progress: Progress | None
    ) -> None:
        wait_s, spent_usd, finished = self._patience.first_wait_s, 0.0, 0
        while entries := self._submissions.of(self.name):
            answered = finished
            total = finished + sum(len(entry.requests) for entry in entries)
            ended = False
            for entry in entries:
                batch = self._poll(entry)
                if batch.status not in _ENDED:
                    answered += _answered(batch)
                    continue
                spent_usd += self._collect(entry, batch, requests, failed)
                hold.charge(spent_usd)
                finished += len(entry.requests)
                answered += len(entry.requests)
                ended = True
            if progress is not None:
                progress(answered, total)
            if not ended:
                self._pause(wait_s)
                wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    def _poll(self, entry: Submission) -> Batch:
        return self._sent(
            lambda: self._client.batches.retrieve(entry.batch),
            f"{self._where} knows no batch {entry.batch}, which this memory waits for; use the key that it was "
            "submitted with, or delete batches.json in the memory's calls folder to submit its requests again.",
        )

    def _collect(
        self,
        entry: Submission,
        batch: Batch,
        requests: Mapping[str, ChatRequest],
        failed: dict[str, CallFailed],
    ) -> float:
        """Keeps the results of a batch that has ended, then forgets it; gives what it cost in dollars."""
        files = [file for file in (batch.output_file_id, batch.error_file_id) if file]
        if batch.status == "failed" and not files:
            self._clean(entry.collected([entry.input_file]))
            raise ProviderError(f"{self._where} did not take the batch ({_why(batch)}); nothing of it was answered.")
        results: dict[str, dict[str, Any]] = {}
        for file in files:
            results |= read_results(self._content(file))
        spent_usd = 0.0
        fatal: ProviderError | None = None
        for key, purpose in entry.requests.items():
            role, prompt, prompt_hash = purpose
            request = requests.get(key) or ChatRequest(role, prompt, prompt_hash, text="")
            try:
                recorded = self._kept(key, request, results.get(key), batch)
                spent_usd += recorded.row.cost_usd or 0.0
            except CallFailed as error:
                failed[key] = error
                spent_usd += error.usage.cost_usd or 0.0
            except ProviderError as error:
                fatal = error
        self._clean(entry.collected([entry.input_file, *files]))
        if fatal is not None:
            raise fatal
        return spent_usd

    def _content(self, file: str) -> str:
        missing = (
            f"{self._where} no longer has the results of a batch; delete batches.json in the memory's calls folder "
            "to submit its requests again."
        )
        return self._sent(lambda: self._client.files.content(file).content.decode("utf-8", "replace"), missing)

    def _kept(self, key: str, request: ChatRequest, result: dict[str, Any] | None, batch: Batch) -> Recorded:
        """The reply to one request, on disk. Raises CallFailed, or what concerns every request of the model."""
        kept = self._calls.read(key)  # a command that was killed meanwhile may have kept it
        if kept is not None:
            return kept

        def call() -> tuple[dict[str, Any], Usage, float]:
            reply = self._reply(request, result, batch)
            return content_of(reply), reply.usage, 0.0

        return self._calls.once(key, purpose_of(self.name, request), call)

    def _reply(self, request: ChatRequest, result: dict[str, Any] | None, batch: Batch) -> ChatReply:
        if result is None:
            raise CallFailed(f"{self._where} gave no result for this request of a batch ({batch.status}).")
        response = result.get("response")
        if not isinstance(response, dict):
            said = refusal_in_body({"error": result.get("error") or {"message": "no response"}}, self._key)
            raise CallFailed(f"{self._where} did not answer this request of a batch ({said}).")
        body, status = response.get("body"), int(response.get("status_code") or 0)
        refusal = refusal_in_body(body, self._key)
        if status != 200 or refusal is not None:
            said = refusal or Refusal("an error")
            said.status = status if status != 200 else said.status
            raise final_error(said, self._model_name, bool(request.media))
        try:
            reply = read_reply(body, request, self._capabilities)
        except BrokenReply as error:
            raise CallFailed(f"{self._where} failed this request ({error}).", self._discounted(error.usage)) from None
        return replace(reply, usage=self._discounted(reply.usage))

    def _discounted(self, usage: Usage) -> Usage:
        return usage if usage.cost_usd is None else replace(usage, cost_usd=usage.cost_usd * self._price)

    def _clean(self, collected: Submission) -> None:
        """Deletes the files of a batch at the provider, footage being private, and forgets it."""
        self._submissions.keep(collected)
        for file in collected.leftover:
            self._delete(file)
        self._submissions.drop(collected)

    def _delete(self, file: str) -> None:
        from openai import APIStatusError

        def delete() -> None:
            try:
                self._client.files.delete(file)
            except APIStatusError as error:
                if error.status_code >= 500 or error.status_code == 429:
                    raise  # else it is gone, or must stay; neither is worth ending the run for

        self._sent(delete, "")

    # The wire

    def _sent(self, send: Callable[[], _T], missing: str) -> _T:
        """What `send` gives, tried until the provider's patience ends; `missing` is the sentence for a 404."""
        from openai import APIError

        began, wait_s, tries = time.monotonic(), self._patience.first_wait_s, 0
        while True:
            tries += 1
            if self._stop.is_set():
                raise Stopped("The run is being stopped.")
            try:
                return send()
            except APIError as error:
                # Without the cause: it holds the request, and so the key.
                refusal = refusal_of(error, self._key)
            if refusal.status in (404, 405, 501):
                raise ProviderError(missing) from None
            if remedy_for(refusal) not in ("wait", "retry"):
                raise final_error(refusal, self._model_name, has_media=False) from None
            if tries >= _FEWEST_TRIES and time.monotonic() - began >= self._patience.total_s:
                raise gave_up(refusal, self._model_name, tries, whole_run=True) from None
            self._pause(wait_s if refusal.retry_after_s is None else refusal.retry_after_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    def _pause(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise Stopped("The run is being stopped; run the same command again to go on waiting for the batch.")


def _answered(batch: Batch) -> int:
    counts = batch.request_counts
    return counts.completed + counts.failed if counts is not None else 0


def _why(batch: Batch) -> str:
    errors: Iterable[Any] = (batch.errors.data or []) if batch.errors is not None else []
    return "; ".join(str(error.message) for error in itertools.islice(errors, 3)) or "it did not say why"
