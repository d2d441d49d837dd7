"""Has the Batch API answer what perceiving will ask, round after round, before anything is written.

What a later call asks follows from earlier replies, so a round gathers all requests that can be built from the
replies on disk, and waits for theirs; the last round finds nothing missing. All requests of a round are in memory at
once: about a megabyte for each clip whose video is sent.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from amr.config import Role, RoleSettings, Settings
from amr.media.source import Source
from amr.models.batch import Batches
from amr.models.calls import Calls, chat_key
from amr.models.capabilities import Capabilities
from amr.models.chat import CallFailed, ChatModel, ChatReply, ChatRequest
from amr.models.names import ModelName
from amr.models.open import Models
from amr.perceive.perceiver import Perceiver, load_perceiver
from amr.records import Clip
from amr.write.drafts import drafted
from amr.write.merging import merging
from amr.write.target import clips_done


def wants_batches(settings: Settings) -> bool:
    """Whether a role of perceiving is to be answered by the Batch API."""
    roles: tuple[Role, ...] = ("perceive", "handles", "refine", "summaries")
    return settings.perceives_with_model and any(settings.roles[role].mode == "batch" for role in roles)


def fetch_in_batches(
    models: Models,
    directory: Path,
    open_sources: Callable[[], Sequence[Source]],
    scope: str,
    notice: Callable[[str], None],
) -> None:
    """Gets the replies of all roles in batch mode into the call cache. A request that fails is left to be sent alone.

    Raises what `Batches.submit_and_wait` raises; the next command goes on waiting.
    """
    gathered = _Gathered(models, directory)
    while gathered.round(open_sources(), scope):
        for batches, requests in gathered.take():
            notice(
                f"Waiting for {len(requests)} replies of {batches.name} in batches, which may take a day;"
                " stop at any time and run the same command again to go on."
            )
            replies = batches.submit_and_wait(requests)
            gathered.failed |= {
                chat_key(batches.name, request)
                for request, reply in zip(requests, replies, strict=True)
                if isinstance(reply, CallFailed)
            }


class _Gathered:
    """The requests of a round that have no reply yet, by model."""

    def __init__(self, models: Models, directory: Path) -> None:
        self.failed: set[str] = set()
        self._models = models
        self._directory = directory
        self._lock = threading.Lock()
        self._requests: dict[str, dict[str, ChatRequest]] = {}
        self._batches: dict[str, Batches] = {}

    def round(self, sources: Sequence[Source], scope: str) -> bool:
        """Perceives all clips that are not done as far as the replies on disk reach; says whether any is missing."""
        # A ledger of its own: what is only looked up here is noted when it is used.
        calls = Calls(self._directory / "calls", "")
        models = Models(self._models.settings, calls, self._models.budget, self._models.stop, self._open)
        settings = models.settings
        perceiver = load_perceiver(settings, models)
        for source in sources:
            done = clips_done(self._directory, source, perceiver, settings, scope, merging(settings, source.kind))
            clips = source.clips(done)
            for _ in drafted(clips, partial(_look, perceiver), settings.jobs, models.stop):
                pass
        return bool(self._requests)

    def take(self) -> list[tuple[Batches, list[ChatRequest]]]:
        """What was gathered, each model's with its Batch API."""
        taken, self._requests = self._requests, {}
        return [(self._batches[name], list(requests.values())) for name, requests in sorted(taken.items())]

    def note(self, batches: Batches, request: ChatRequest) -> None:
        """Adds a request; several clips may ask the same."""
        key = chat_key(batches.name, request)
        if key in self.failed:
            return
        with self._lock:
            self._batches[batches.name] = batches
            self._requests.setdefault(batches.name, {})[key] = request

    def _open(self, name: ModelName, capabilities: Capabilities, role: RoleSettings) -> ChatModel:
        if role.mode == "direct":
            return self._models.open_chat(name, capabilities, role)
        return _Gathering(self._models.batches(name, capabilities, role), capabilities, self)


class _Gathering:
    """A ChatModel that has no reply but those on disk, and notes what it is asked for."""

    def __init__(self, batches: Batches, capabilities: Capabilities, gathered: _Gathered) -> None:
        self.name = batches.name
        self.capabilities = capabilities
        self._batches = batches
        self._gathered = gathered

    def complete(self, request: ChatRequest) -> ChatReply:
        """Raises CallFailed."""
        self._gathered.note(self._batches, request)
        raise CallFailed("The reply comes with a batch.")


def _look(perceiver: Perceiver, clip: Clip) -> None:
    if clip.error is None:
        with suppress(CallFailed):
            perceiver.perceive(clip)
