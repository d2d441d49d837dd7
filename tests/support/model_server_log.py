"""What the test server was asked: one record per request, in memory and as lines of a file."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Call:
    """One request. `role` is the task of a chat request, else "embeddings", "transcription", "files", "batches"…

    `key` is a hash of the canonical body: equal for a repeated request. `clip_begin` is the time of the film at
    which the clip that was sent begins, `clocks` the film's times of the pictures sent, both as the codes tell.
    `in_flight` counts the requests under way when this one came, itself included. `status` is 0 while under way
    and when the connection was cut; `replied` says that the whole reply was written. `text` is what a chat request
    without media said.
    """

    number: int
    path: str
    came: float
    in_flight: int
    role: str = ""
    model: str = ""
    key: str = ""
    clip_begin: float | None = None
    clocks: list[float] = field(default_factory=list)
    images: int = 0
    video_seconds: float = 0.0
    audio_seconds: float = 0.0
    body_bytes: int = 0
    max_tokens: int | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    fault: str = ""
    message: str = ""
    status: int = 0
    replied: bool = False
    batch: bool = False
    ended: bool = False
    took: float = 0.0
    text: str = ""


MODEL_PATHS = ("/chat/completions", "/embeddings", "/audio/transcriptions")


class Log:
    """The requests so far; thread-safe. With a file, each is a line when it came and again when it ended."""

    def __init__(self, path: Path | None) -> None:
        self._lock = threading.Lock()
        self._path = path
        self._calls: list[Call] = []
        self._in_flight = 0
        self.max_in_flight = 0

    def begin(self, path: str, *, batch: bool = False) -> Call:
        with self._lock:
            counted = path.endswith(MODEL_PATHS) and not batch
            self._in_flight += counted
            self.max_in_flight = max(self.max_in_flight, self._in_flight)
            call = Call(len(self._calls) + 1, path, time.time(), self._in_flight, batch=batch)
            self._calls.append(call)
            return call

    def nth_of_role(self, call: Call) -> int:
        """How many requests of the call's role came up to it, itself included."""
        with self._lock:
            return sum(other.role == call.role and other.number <= call.number for other in self._calls)

    def note(self, call: Call) -> None:
        """Writes the call to the file as it now is."""
        if self._path is not None:
            with self._lock, self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(call)) + "\n")

    def end(self, call: Call) -> None:
        """Counts the call as no longer under way; said again, it only writes what changed since."""
        with self._lock:
            again, call.ended = call.ended, True
            self._in_flight -= call.path.endswith(MODEL_PATHS) and not call.batch and not again
        if not again:
            call.took = round(time.time() - call.came, 4)
            self.note(call)
        elif call.status and not call.replied:
            self.note(call)

    def calls(self, role: str | None = None) -> list[Call]:
        """The requests in order of arrival, all or those of a role."""
        with self._lock:
            return [call for call in self._calls if role is None or call.role == role]

    def model_calls(self) -> list[Call]:
        """The requests to a model: chat, embeddings, transcriptions, those inside batches included."""
        return [call for call in self.calls() if call.path.endswith(MODEL_PATHS)]

    def repeated(self) -> dict[str, int]:
        """How often each request that was answered well came again after that.

        A client that was killed may not have read what was written to it, so it may come again with as many as
        it had in flight.
        """
        done: set[str] = set()
        again: Counter[str] = Counter()
        for call in self.model_calls():
            if call.key in done:
                again[call.key] += 1
            if call.status == 200 and call.replied and call.fault in ("", "slow"):
                done.add(call.key)
        return dict(again)

    def cost_usd(self) -> float:
        return round(sum(call.cost_usd for call in self.calls()), 10)

    def clear(self) -> None:
        """Forgets all requests; those under way still end."""
        with self._lock:
            self._calls.clear()
            self.max_in_flight = self._in_flight

    def to_json(self) -> dict[str, Any]:
        calls = self.calls()
        return {
            "calls": [asdict(call) for call in calls],
            "max_in_flight": self.max_in_flight,
            "in_flight": self._in_flight,
            "cost_usd": self.cost_usd(),
        }


def body_key(body: Any) -> str:
    """The hash of a request's canonical body."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
