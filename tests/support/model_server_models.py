"""The models that the test server offers: what they accept, how they count, what they cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Model:
    """One model. Prices are dollars per million tokens; an image and a second of media count as so many tokens.

    A video counts by its pictures and, on top, by its sound.
    """

    name: str
    kind: str = "chat"  # "chat", "embedding" or "transcription"
    accepts: frozenset[str] = frozenset()  # of "image", "audio", "video"
    context: int = 128_000
    most_output: int = 16_384
    price_in: float = 0.0
    price_out: float = 0.0
    schema: bool = True
    reasoning: bool = False
    dimensions: int = 0
    image_tokens: int = 0
    video_tokens_per_second: int = 0
    audio_tokens_per_second: int = 0

    def cost(self, prompt_tokens: int, completion_tokens: int = 0) -> float:
        """Dollars."""
        return round((prompt_tokens * self.price_in + completion_tokens * self.price_out) / 1e6, 10)

    def media_tokens(self, images: int, video_seconds: float, audio_seconds: float) -> int:
        video = math.ceil(round(video_seconds * self.video_tokens_per_second, 3))
        audio = math.ceil(round(audio_seconds * self.audio_tokens_per_second, 3))
        return images * self.image_tokens + video + audio


def text_tokens(characters: int) -> int:
    """Tokens of a text of so many characters."""
    return -(-characters // 4)


_GEMINI: dict[str, Any] = {"image_tokens": 258, "video_tokens_per_second": 263, "audio_tokens_per_second": 32}
_OPENAI: dict[str, Any] = {"image_tokens": 765, "audio_tokens_per_second": 10}
_MINI: dict[str, Any] = {"image_tokens": 25_501}
_GPT5: dict[str, Any] = {"image_tokens": 630}
_LOCAL: dict[str, Any] = {"image_tokens": 1_000, "video_tokens_per_second": 300, "audio_tokens_per_second": 32}
_IMAGE = frozenset({"image"})
_ALL = frozenset({"image", "audio", "video"})

_CHAT = [
    Model("google/gemini-2.5-pro", "chat", _ALL, 1_048_576, 65_536, 1.25, 10.0, reasoning=True, **_GEMINI),
    Model("google/gemini-2.5-flash", "chat", _ALL, 1_048_576, 65_535, 0.30, 2.50, reasoning=True, **_GEMINI),
    Model("openai/gpt-4o-mini", "chat", _IMAGE, 128_000, 16_384, 0.15, 0.60, **_MINI),
    Model("openai/gpt-4o", "chat", _IMAGE, 128_000, 16_384, 2.50, 10.0, **_OPENAI),
    Model("openai/gpt-5", "chat", _IMAGE, 400_000, 128_000, 1.25, 10.0, reasoning=True, **_GPT5),
    Model("openai/gpt-4o-audio-preview", "chat", frozenset({"audio"}), 128_000, 16_384, 2.50, 10.0, **_OPENAI),
    Model("openai/gpt-3.5-turbo", "chat", frozenset(), 16_385, 4_096, 0.50, 1.50, schema=False),
    Model("qwen2.5-vl", "chat", frozenset({"image", "video"}), 32_768, 8_192, **_LOCAL),
    Model("qwen2.5-omni", "chat", _ALL, 32_768, 8_192, **_LOCAL),
    Model("text-only", "chat", frozenset(), 32_768, 8_192),
    Model("without-schema", "chat", _ALL, 32_768, 8_192, schema=False, **_LOCAL),
    Model("short-context", "chat", _ALL, 2_000, 1_000, **_LOCAL),
]
_OTHER = [
    Model("openai/text-embedding-3-large", "embedding", context=8_192, price_in=0.13, dimensions=3_072),
    Model("openai/text-embedding-3-small", "embedding", context=8_192, price_in=0.02, dimensions=1_536),
    Model("local-embedder", "embedding", context=8_192, dimensions=384),
    Model("openai/whisper-1", "transcription", price_in=0.0),
    Model("openai/gpt-4o-mini-transcribe", "transcription", price_in=1.25, price_out=5.0, audio_tokens_per_second=10),
    Model("whisper-large-v3", "transcription"),
]
MODELS = {model.name: model for model in [*_CHAT, *_OTHER]}
"""By name as OpenRouter gives it. OpenAI's own server knows those of `openai/` without the prefix."""


def find(name: str, mode: str) -> Model | None:
    """The model of a name in a mode; None when the server does not have it."""
    if mode == "openai":
        return MODELS.get(f"openai/{name}")
    if mode == "local":
        return MODELS.get(name)
    return MODELS.get(name.removesuffix(":free"))


def listed(mode: str) -> list[dict[str, object]]:
    """What GET /v1/models lists."""
    if mode == "openai":
        return [_plain(name.removeprefix("openai/")) for name in MODELS if name.startswith("openai/")]
    if mode == "local":
        return [_plain(name) | {"max_model_len": model.context} for name, model in MODELS.items() if "/" not in name]
    return [_priced(model) for model in MODELS.values()]


def _plain(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 1_700_000_000, "owned_by": "test"}


def _priced(model: Model) -> dict[str, object]:
    parameters = ["max_tokens", "temperature", "seed", "stop", "top_p", "response_format"]
    parameters += ["structured_outputs"] if model.schema else []
    parameters += ["reasoning", "include_reasoning", "reasoning_effort"] if model.reasoning else []
    return {
        "id": model.name,
        "canonical_slug": model.name,
        "name": model.name,
        "created": 1_700_000_000,
        "context_length": model.context,
        "architecture": {
            "input_modalities": ["text", *sorted(model.accepts)],
            "output_modalities": ["embeddings" if model.kind == "embedding" else "text"],
            "tokenizer": "Other",
            "instruct_type": None,
        },
        "pricing": {
            "prompt": f"{model.price_in / 1e6:.10f}",
            "completion": f"{model.price_out / 1e6:.10f}",
            "request": "0",
            "image": "0",
        },
        "top_provider": {
            "context_length": model.context,
            "max_completion_tokens": model.most_output,
            "is_moderated": False,
        },
        "per_request_limits": None,
        "supported_parameters": parameters,
    }
