"""The models of one command, opened once: each role's chat model behind the call cache, and the embedder."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from amr.models.budget import Budget
from amr.models.calls import Calls, RecordedChat
from amr.models.capabilities import Capabilities, capabilities_of, priced
from amr.models.chat import ChatModel
from amr.models.embedders import EmbeddedEmbedder, Embedder, RemoteEmbedder
from amr.models.names import ModelName, parse_model_name
from amr.models.remote import Patience, Remote
from amr.models.transcripts import RecordedSpeech, SpeechRecognizer

if TYPE_CHECKING:
    from amr.config import Role, RoleSettings, Settings
    from amr.models.batch import Batches

Opener = Callable[[ModelName, Capabilities, "RoleSettings"], ChatModel]
"""From a model's name, what it takes and how its role calls it to the model."""

SpeechOpener = Callable[[ModelName, Capabilities], SpeechRecognizer]
"""The same for a model that transcribes."""


@dataclass
class Models:
    """What a command calls.

    For a rehearsal that sends nothing, `opener` and `speech_opener` open the models in place of `open_chat` and
    `open_speech`.

    Keys come from the environment or the config alone. Setting `stop` ends the waits of all calls.
    """

    settings: Settings
    calls: Calls
    budget: Budget = field(default_factory=Budget)
    stop: threading.Event = field(default_factory=threading.Event)
    opener: Opener | None = None
    speech_opener: SpeechOpener | None = None
    _chats: dict[tuple[str, str, str], RecordedChat] = field(default_factory=dict)

    def chat(self, role: Role) -> RecordedChat:
        """The model of a role; roles with the same model share one. Raises ProviderError when it has no key."""
        wanted = self.settings.roles[role]
        name = parse_model_name(self.settings.model_of(role))
        key = (str(name), wanted.api_key, wanted.mode)
        if key not in self._chats:
            opener = self.opener or self.open_chat
            self._chats[key] = RecordedChat(opener(name, self.capabilities(name), wanted), self.calls)
        return self._chats[key]

    def capabilities(self, name: ModelName) -> Capabilities:
        """What a model takes and costs, by the table and the config."""
        return capabilities_of(name, self.settings.models)

    def embedder(self) -> Embedder:
        """The embedder of the settings. Raises ProviderError when it has no key."""
        return self.embedder_named(self.settings.embedder, self.settings.embedding_dimensions)

    def embedder_named(self, name: str, dimensions: int | None) -> Embedder:
        """An embedder by its name."""
        model = parse_model_name(name)
        if model.provider == "embedded":
            return EmbeddedEmbedder()
        if model.provider == "hf":
            from amr.models.hf import LocalEmbedder

            return LocalEmbedder(model, dimensions)
        remote = self._remote(model, self.capabilities(model), self.settings.embedder_api_key)
        return RemoteEmbedder(remote, self.calls, dimensions)

    def open_chat(self, name: ModelName, capabilities: Capabilities, role: RoleSettings) -> ChatModel:
        """The chat model of a name, to be called directly."""
        if name.remote:
            return self._remote(name, capabilities, role.api_key)
        from amr.models.hf import LocalChat

        return LocalChat(name, capabilities)

    def speech(self, name: str, api_key: str) -> RecordedSpeech:
        """A model that transcribes, by its name. Raises ProviderError when it has no key."""
        model = parse_model_name(name)
        if self.speech_opener is not None:
            return RecordedSpeech(self.speech_opener(model, self.capabilities(model)), self.calls)
        return RecordedSpeech(self.open_speech(model, api_key), self.calls)

    def open_speech(self, name: ModelName, api_key: str) -> SpeechRecognizer:
        """The transcription model of a name, to be called directly."""
        if name.remote:
            return self._connect(name, self.capabilities(name), api_key)
        from amr.models.hf import LocalSpeech

        return LocalSpeech(name)

    def batches(self, name: ModelName, capabilities: Capabilities, role: RoleSettings) -> Batches:
        """The Batch API of a model's provider. Raises ProviderError when it has none."""
        from amr.models.batch import Batches

        if self.budget.capped:
            capabilities = self.with_listed_prices(name, capabilities, role.api_key)
        return Batches(
            name,
            capabilities,
            self.calls,
            self.calls.directory,
            api_key=role.api_key or None,
            budget=self.budget,
            patience=self._patience(),
            stop=self.stop,
        )

    def _patience(self) -> Patience:
        return Patience(**self.settings.patience.model_dump())

    def _remote(self, name: ModelName, capabilities: Capabilities, api_key: str) -> Remote:
        if self.budget.capped:
            capabilities = self.with_listed_prices(name, capabilities, api_key)
        return self._connect(name, capabilities, api_key)

    def with_listed_prices(self, name: ModelName, capabilities: Capabilities, api_key: str) -> Capabilities:
        """Capabilities with the prices of the provider's own list, where ours are not known and it has one."""
        if priced(capabilities) or name.provider != "openrouter":
            return capabilities
        prices = self._connect(name, capabilities, api_key).listed_prices()
        if prices is None:
            return capabilities
        return capabilities.model_copy(update={"usd_per_million_input": prices[0], "usd_per_million_output": prices[1]})

    def _connect(self, name: ModelName, capabilities: Capabilities, api_key: str) -> Remote:
        return Remote(
            name,
            capabilities,
            api_key=api_key or None,
            budget=self.budget,
            patience=self._patience(),
            stop=self.stop,
        )
