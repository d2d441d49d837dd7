"""The memory's `calls/`: every reply on disk before it is used, so that none is ever paid for twice.

One file per call, named by the BLAKE3 of the whole request. Requests are not kept, only replies; no key is.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from blake3 import blake3

from amr.models.capabilities import Capabilities
from amr.models.chat import CallFailed, ChatModel, ChatReply, ChatRequest, Usage
from amr.records import CallRow

_LAYOUT = 1


@dataclass(frozen=True)
class Recorded:
    """A reply as it is kept: its content as JSON, and the ledger's row of the call that was paid."""

    content: dict[str, Any]
    row: CallRow
    cached: bool


@dataclass(frozen=True)
class Purpose:
    """What a call is for, as the ledger names it."""

    role: str
    prompt: str
    prompt_hash: str
    model: str


def call_key(request: Any) -> str:
    """BLAKE3 (hex) of a request as JSON; its order of keys does not matter."""
    text = json.dumps(request, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return blake3(text.encode("utf-8", "surrogatepass")).hexdigest()


def chat_key(model: str, request: ChatRequest) -> str:
    """The key of a chat call: all that may change its reply, media by their bytes. What it is for is not part of it."""
    media = [[item.kind, item.media_type, blake3(item.data).hexdigest()] for item in request.media]
    limits = [request.max_tokens, request.reasoning_effort]
    content = [request.prompt_hash, request.system, request.text, media, request.schema]
    return call_key(["chat", model, content, limits])


class Calls:
    """The call cache of a memory and the ledger of one command. Safe to use from many threads."""

    def __init__(self, directory: Path, command: str) -> None:
        self.directory = directory
        self._command = command
        self._lock = threading.Lock()
        self._under_way: dict[str, Future[Recorded]] = {}
        self._rows: list[CallRow] = []
        self._paid: set[str] = set()
        self.sent: list[CallRow] = []
        """The calls that this command paid for itself, in the order of their replies."""

    def once(self, key: str, purpose: Purpose, call: Callable[[], tuple[dict[str, Any], Usage, float]]) -> Recorded:
        """The reply under `key`: from disk, from the same call under way in another thread, or from `call`.

        `call` gives the reply's content as JSON, its usage and its latency in milliseconds. What it gives is on
        disk when this returns.
        """
        with self._lock:
            other = self._under_way.get(key)
            if other is None:
                mine: Future[Recorded] = Future()
                self._under_way[key] = mine
        if other is not None:
            return self._again(other.result(), purpose)
        try:
            recorded = self._read_or_call(key, purpose, call)
        except BaseException as error:
            mine.set_exception(error)
            raise
        else:
            mine.set_result(recorded)
            return recorded
        finally:
            with self._lock:
                del self._under_way[key]

    def _read_or_call(
        self, key: str, purpose: Purpose, call: Callable[[], tuple[dict[str, Any], Usage, float]]
    ) -> Recorded:
        kept = self.read(key)
        if kept is not None:
            self._note(kept.row)
            return self._again(kept, purpose)
        try:
            content, usage, latency_ms = call()
        except CallFailed as error:
            if error.usage != Usage():
                self._note_sent(self._row(key, purpose, error.usage, 0.0))
            raise
        return self.put(key, purpose, content, usage, latency_ms)

    def put(self, key: str, purpose: Purpose, content: dict[str, Any], usage: Usage, latency_ms: float) -> Recorded:
        """Keeps a reply that was paid for, and notes it in the ledger."""
        recorded = Recorded(content, self._row(key, purpose, usage, latency_ms), cached=False)
        self._write(key, recorded)
        self._note_sent(recorded.row)
        return recorded

    def read(self, key: str) -> Recorded | None:
        """The reply on disk under `key`, or None. A file that is damaged counts as absent."""
        try:
            kept = json.loads(self._file(key).read_bytes())
            if kept["check"] != call_key([_LAYOUT, key, kept["content"], kept["row"]]):
                return None
            return Recorded(kept["content"], CallRow(**kept["row"]), cached=True)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def discard(self, key: str) -> None:
        """Sets aside a reply that turned out to be of no use, so that the next run asks again. It stays on disk."""
        file = self._file(key)
        with suppress(FileNotFoundError):
            file.replace(file.with_suffix(".unusable"))

    def take_rows(self) -> list[CallRow]:
        """The ledger's rows since this was last asked."""
        with self._lock:
            rows, self._rows = self._rows, []
        return rows

    def _row(self, key: str, purpose: Purpose, usage: Usage, latency_ms: float) -> CallRow:
        used = (usage.prompt_tokens, usage.completion_tokens, usage.cost_usd)
        named = (purpose.role, purpose.prompt, purpose.prompt_hash, purpose.model)
        return CallRow(key, *named, *used, round(latency_ms, 1), False, self._command, time.time_ns() // 1_000_000)

    def _again(self, recorded: Recorded, purpose: Purpose) -> Recorded:
        """The same reply for one more use, which costs nothing."""
        usage = Usage(recorded.row.prompt_tokens, recorded.row.completion_tokens, 0.0)
        self._note(replace(self._row(recorded.row.key, purpose, usage, 0.0), cached=True))
        return replace(recorded, cached=True)

    def _note_sent(self, row: CallRow) -> None:
        with self._lock:
            self.sent.append(row)
        self._note(row)

    def _note(self, row: CallRow) -> None:
        with self._lock:
            if row.cached or row.key not in self._paid:
                self._rows.append(row)
            if not row.cached:
                self._paid.add(row.key)

    def _file(self, key: str) -> Path:
        return self.directory / key[:2] / f"{key}.json"

    def _write(self, key: str, recorded: Recorded) -> None:
        row = asdict(recorded.row)
        check = call_key([_LAYOUT, key, recorded.content, row])
        kept = {"content": recorded.content, "row": row, "check": check}
        file = self._file(key)
        _make_directory(file.parent)
        # No other thread writes this key now, but another process may ask the same.
        partial = file.with_suffix(f".{os.getpid()}.partial")
        with partial.open("wb") as stream:
            stream.write(json.dumps(kept, ensure_ascii=True).encode())
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(file)
        _sync_directory(file.parent)


def _make_directory(directory: Path) -> None:
    """Makes a directory that a crash does not take away again."""
    if directory.is_dir():
        return
    _make_directory(directory.parent)
    directory.mkdir(exist_ok=True)
    _sync_directory(directory.parent)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class RecordedChat:
    """A chat model behind the call cache: itself a ChatModel."""

    def __init__(self, model: ChatModel, calls: Calls) -> None:
        self.name = model.name
        self.capabilities: Capabilities = model.capabilities
        self._model = model
        self._calls = calls

    def complete(self, request: ChatRequest) -> ChatReply:
        """The reply to a request, on disk before it is returned. Raises what the model raises."""
        return reply_from(self.recorded(request))

    def recorded(self, request: ChatRequest) -> Recorded:
        """The same with the row of the call that was paid for it, by this command or an earlier one."""
        return self._calls.once(
            chat_key(self.name, request), purpose_of(self.name, request), lambda: _chat_content(self._model, request)
        )

    def discard(self, request: ChatRequest) -> None:
        """Has the next run ask again, the reply to this request being of no use."""
        self._calls.discard(chat_key(self.name, request))


def purpose_of(model: str, request: ChatRequest) -> Purpose:
    """What the ledger says a chat request is for."""
    return Purpose(request.role, request.prompt, request.prompt_hash, model)


def _chat_content(model: ChatModel, request: ChatRequest) -> tuple[dict[str, Any], Usage, float]:
    reply = model.complete(request)
    return content_of(reply), reply.usage, reply.latency_ms


def content_of(reply: ChatReply) -> dict[str, Any]:
    """A chat reply as it is kept on disk."""
    return {"text": reply.text, "finish_reason": reply.finish_reason}


def reply_from(recorded: Recorded) -> ChatReply:
    """A chat reply from what is kept; a cached one costs nothing."""
    row = recorded.row
    usage = Usage(row.prompt_tokens, row.completion_tokens, 0.0 if recorded.cached else row.cost_usd)
    text, finish_reason = recorded.content["text"], recorded.content["finish_reason"]
    return ChatReply(text, usage, finish_reason, row.latency_ms, recorded.cached)
