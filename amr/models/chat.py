"""What a chat model is asked and what it replies, and the ways a call can fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from amr.errors import ProviderError

if TYPE_CHECKING:
    from amr.models.capabilities import Capabilities

MediaKind = Literal["image", "video", "audio"]


@dataclass(frozen=True)
class Media:
    """A file sent with a request: its bytes, its media type (`image/jpeg`) and, unless an image, its length."""

    kind: MediaKind
    data: bytes
    media_type: str
    seconds: float = 0.0


@dataclass(frozen=True)
class ChatRequest:
    """One question to a chat model. `role` is what the call is for (`perceive`, `summaries`), for the ledger.

    `prompt` and `prompt_hash` name the template that `text` was rendered from. `schema` is a JSON schema of
    the strict subset (`amr.models.structured.strict_schema`); `max_tokens` limits the reply.
    """

    role: str
    prompt: str
    prompt_hash: str
    text: str
    system: str = ""
    media: tuple[Media, ...] = ()
    schema: dict[str, Any] | None = None
    max_tokens: int = 2048
    reasoning_effort: str = ""


@dataclass(frozen=True)
class Usage:
    """What a call used, attempts that gave nothing included; `cost_usd` is None where no price is known."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        unknown = self.cost_usd is None or other.cost_usd is None
        cost = None if unknown else (self.cost_usd or 0.0) + (other.cost_usd or 0.0)
        prompt_tokens = self.prompt_tokens + other.prompt_tokens
        return Usage(prompt_tokens, self.completion_tokens + other.completion_tokens, cost)


@dataclass(frozen=True)
class ChatReply:
    """A model's reply, as it came. `finish_reason` is `length` when it was cut off; `cached` costs nothing."""

    text: str
    usage: Usage
    finish_reason: str = "stop"
    latency_ms: float = 0.0
    cached: bool = False


class ChatModel(Protocol):
    """A model that answers a request, here or elsewhere. Raises CallFailed or ProviderError."""

    name: str
    capabilities: Capabilities

    def complete(self, request: ChatRequest) -> ChatReply:
        """The reply to a request; safe to call from many threads."""
        ...


class CallFailed(ProviderError):
    """One request failed for good while the provider works: the clip is recorded as failed, the run goes on.

    `usage` is what it cost all the same.
    """

    def __init__(self, message: str, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage or Usage()


class RequestTooLarge(CallFailed):
    """The request is over a size or context limit: send it smaller once, then give up on it."""


class ReplyUnusable(CallFailed):
    """Not even the re-asked reply was what was asked for; `raw` is its text, to be kept."""

    def __init__(self, message: str, raw: str) -> None:
        super().__init__(message)
        self.raw = raw


class Stopped(ProviderError):
    """The run is being stopped, so this call was not sent."""

    exit_code = 130
