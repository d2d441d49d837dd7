"""A model is named by one string, which says where it runs and what it is called there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from amr.errors import ProviderError, UsageError

Provider = Literal["openrouter", "openai", "server", "hf", "embedded"]

_HOSTED: dict[str, tuple[Provider, str]] = {
    "openrouter": ("openrouter", "https://openrouter.ai/api/v1"),
    "openai": ("openai", "https://api.openai.com/v1"),
}
_KEY_VARIABLES = {"openrouter": "OPENROUTER_API_KEY", "openai": "OPENAI_API_KEY", "server": "AMR_API_KEY"}
_FORMS = "openrouter:VENDOR/MODEL, openai:MODEL, http://HOST/v1#MODEL, hf:ID_OR_FOLDER or embedded"


@dataclass(frozen=True)
class ModelName:
    """A parsed name; `base_url` is empty for models that run in this process. `str()` gives the one string back."""

    provider: Provider
    base_url: str
    model: str

    @property
    def remote(self) -> bool:
        """Whether calls to it leave this process."""
        return self.base_url != ""

    @property
    def where(self) -> str:
        """Who runs it, as a sentence says it."""
        if self.provider == "server":
            return f"the model server at {self.base_url}"
        return {"openrouter": "OpenRouter", "openai": "OpenAI"}.get(self.provider, "this machine")

    def __str__(self) -> str:
        if self.provider == "embedded":
            return "embedded"
        return f"{self.base_url}#{self.model}" if self.provider == "server" else f"{self.provider}:{self.model}"


def parse_model_name(text: str) -> ModelName:
    """The model that a one-string name means. Raises UsageError when it means none."""
    text = text.strip()
    if text == "embedded":
        return ModelName("embedded", "", "embedded")
    if text.startswith(("http://", "https://")):
        return _server(text)
    prefix, _, model = text.partition(":")
    if not model or model != model.strip():
        raise UsageError(f'"{text}" is not the name of a model; write {_FORMS}.')
    if prefix == "hf":
        return ModelName("hf", "", model)
    if prefix not in _HOSTED:
        raise UsageError(f'"{text}" names no known provider; write {_FORMS}.')
    provider, base_url = _HOSTED[prefix]
    return ModelName(provider, base_url, model)


def _server(text: str) -> ModelName:
    address, _, model = text.partition("#")
    parts = urlsplit(address)
    if parts.username is not None or parts.query:
        # Names are kept in the memory; a key must not be.
        raise UsageError(
            f"The address of the model server {parts.hostname} must hold no password or query; "
            "put its key in AMR_API_KEY instead."
        )
    if not parts.hostname or not model:
        raise UsageError(
            f'"{text}" lacks the {"model" if parts.hostname else "host"}; write http://HOST:PORT/v1#MODEL.'
        )
    return ModelName("server", address.rstrip("/"), model)


def key_for(name: ModelName, api_key: str | None = None) -> str:
    """The key to call a remote model with: the one given, else that of its provider in the environment.

    A server of one's own may need none. Raises ProviderError when the provider needs a key and none is set.
    """
    variable = _KEY_VARIABLES[name.provider]
    key = (api_key or os.environ.get(variable, "")).strip()
    if key:
        return key
    if name.provider == "server":
        return "none"
    raise ProviderError(
        f"There is no key for {name.where}, which runs {name.model}; set {variable} in the environment."
    )
