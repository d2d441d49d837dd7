"""What each model accepts and costs: configs/models.toml, overridable under [models] in a config."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from amr.errors import BadInput
from amr.models.chat import ChatRequest, Media
from amr.models.names import ModelName
from amr.resources import resource

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_RESERVE = 1.25


class Capabilities(BaseModel):
    """What one model takes and costs. Prices are dollars; None means not known."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dialect: Literal["openai", "openrouter"]
    """Whether OpenRouter's own fields (`provider`) are sent."""
    images: bool
    video: bool
    audio: bool
    json_output: Literal["schema", "object", "none"]
    """The surest way it can be told to write JSON: a schema in the request, JSON of any shape, or by words only."""
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"]
    temperature: bool
    reasoning_effort: bool
    data_collection: Literal["deny", "allow"]
    """OpenRouter only: `deny` keeps to providers that do not keep what they are sent."""
    max_images: int = Field(ge=1)
    max_media_bytes: int = Field(ge=1)
    """The largest single file it takes, before base64."""
    max_request_bytes: int = Field(ge=1)
    tokens_per_image: int = Field(ge=0)
    tokens_per_video_second: int = Field(ge=0)
    tokens_per_audio_second: int = Field(ge=0)
    """Of an audio file, and of the sound of a video on top of its pictures."""
    usd_per_million_input: float | None = Field(default=None, ge=0)
    usd_per_million_output: float | None = Field(default=None, ge=0)
    usd_per_million_audio_input: float | None = Field(default=None, ge=0)
    """Where sound costs more than text."""
    usd_per_audio_minute: float | None = Field(default=None, ge=0)
    """Transcription only."""
    dimensions: int = Field(ge=0)
    """Of its embeddings when none are asked for; 0: not known before the first reply."""
    chosen_dimensions: bool
    """Whether fewer dimensions can be asked for."""
    max_texts: int = Field(ge=1)
    """How many texts one embeddings call takes."""


def capabilities_of(name: ModelName, overrides: Mapping[str, Mapping[str, Any]] | None = None) -> Capabilities:
    """What a model accepts: its provider's defaults, then the table's rows for it, then `overrides`.

    Both tables go from patterns of one-string names (`openrouter:google/gemini-*`) to fields; a longer pattern
    weighs more. Raises BadInput when an override cannot be used.
    """
    table = _table()
    merged: dict[str, Any] = dict(table["defaults"]["every"]) | table["defaults"].get(name.provider, {})
    for rows in (table["models"], overrides or {}):
        matching = [pattern for pattern in rows if fnmatchcase(str(name), pattern) or pattern == str(name)]
        for pattern in sorted(matching, key=lambda pattern: (pattern == str(name), len(pattern), pattern)):
            merged |= rows[pattern]
    try:
        return Capabilities(**merged)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise BadInput(f'The setting models."{name}".{field} cannot be used: {first["msg"]}.') from error


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    return tomllib.loads(resource("configs/models.toml").read_text(encoding="utf-8"))


def text_tokens(text: str) -> int:
    """About how many tokens a text is: a quarter of its characters."""
    return math.ceil(len(text) / 4)


def input_tokens(request: ChatRequest, model: Capabilities) -> int:
    """About how many tokens a request is: characters ÷ 4, and the table's constants for media."""
    text = text_tokens(request.system) + text_tokens(request.text)
    return text + _visual_tokens(request.media, model) + _audio_tokens(request.media, model)


def _visual_tokens(media: Iterable[Media], model: Capabilities) -> int:
    return sum(
        model.tokens_per_image if item.kind == "image" else math.ceil(item.seconds * model.tokens_per_video_second)
        for item in media
        if item.kind != "audio"
    )


def _audio_tokens(media: Iterable[Media], model: Capabilities) -> int:
    return sum(math.ceil(item.seconds * model.tokens_per_audio_second) for item in media if item.kind != "image")


def priced(model: Capabilities) -> bool:
    """Whether a call's cost can be told before it is made."""
    return model.usd_per_million_input is not None and model.usd_per_million_output is not None


def token_cost(model: Capabilities, prompt_tokens: int, completion_tokens: int) -> float | None:
    """What tokens cost in dollars, or None where the prices are not known."""
    if model.usd_per_million_input is None or model.usd_per_million_output is None:
        return None
    return (prompt_tokens * model.usd_per_million_input + completion_tokens * model.usd_per_million_output) / 1e6


def highest_cost(request: ChatRequest, model: Capabilities) -> float | None:
    """The most one attempt at a request can cost: a quarter more input than estimated, the whole of `max_tokens`.

    A character outside ASCII is taken for a token of its own, as it is in the worst case.
    """
    if not priced(model):
        return None
    audio = _audio_tokens(request.media, model)
    audio_price = max(model.usd_per_million_audio_input or 0.0, model.usd_per_million_input or 0.0)
    rare = sum(not character.isascii() for character in request.system + request.text)
    schema = len(str(request.schema)) // 3 if request.schema else 0
    plain = input_tokens(request, model) - audio + rare + schema
    most = token_cost(model, plain, 0) or 0.0
    reply = token_cost(model, 0, request.max_tokens) or 0.0
    return _RESERVE * (most + audio * audio_price / 1e6) + reply
