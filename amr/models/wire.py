"""Chat Completions as it goes over the wire: requests to bodies, bodies to replies. Nothing is sent here."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any, Literal

from amr.errors import ProviderError
from amr.models.capabilities import Capabilities, input_tokens, text_tokens, token_cost
from amr.models.chat import ChatReply, ChatRequest, Media, RequestTooLarge, Usage
from amr.models.names import ModelName

JsonOutput = Literal["schema", "object", "none"]

_AUDIO_FORMATS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/mpeg": "mp3",
    "audio/flac": "flac",
    "audio/mp4": "m4a",
    "audio/ogg": "ogg",
    "audio/aac": "aac",
}


class BrokenReply(Exception):
    """The provider answered, but not with a reply; asking again may help."""

    def __init__(self, what: str, usage: Usage | None = None) -> None:
        super().__init__(what)
        self.usage = usage or Usage()


def media_parts(media: Iterable[Media], model: Capabilities, name: ModelName) -> list[dict[str, Any]]:
    """The content parts that carry media: images as data URLs, video as a data URL, sound as bare base64.

    Raises ProviderError when the model does not take that kind, RequestTooLarge when a file is over its limit.
    """
    items = list(media)
    accepted = {"image": model.images, "video": model.video, "audio": model.audio}
    for item in items:
        if not accepted[item.kind]:
            raise ProviderError(
                f"The model {name} does not take {item.kind}; choose one that does, or say that it does under "
                f'[models."{name}"] in the config.'
            )
        if len(item.data) > model.max_media_bytes:
            raise RequestTooLarge(
                f"The clip's {item.kind} is {_megabytes(len(item.data))}, over the {_megabytes(model.max_media_bytes)} "
                f"that {name} takes."
            )
    if sum(item.kind == "image" for item in items) > model.max_images:
        raise RequestTooLarge(f"The clip has more images than the {model.max_images} that {name} takes.")
    if sum(len(item.data) * 4 // 3 for item in items) > model.max_request_bytes:
        raise RequestTooLarge(f"The request is over the {_megabytes(model.max_request_bytes)} that {name} takes.")
    return [_part(item) for item in items]


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def _part(item: Media) -> dict[str, Any]:
    data = base64.b64encode(item.data).decode("ascii")
    if item.kind == "audio":
        return {"type": "input_audio", "input_audio": {"data": data, "format": _AUDIO_FORMATS[item.media_type]}}
    field = f"{item.kind}_url"
    return {"type": field, field: {"url": f"data:{item.media_type};base64,{data}"}}


def chat_body(
    request: ChatRequest, name: ModelName, model: Capabilities, json_output: JsonOutput | None = None
) -> dict[str, Any]:
    """The JSON body of a request; `json_output` weakens how JSON is asked for when the model turned out to refuse it.

    Raises as `media_parts` does.
    """
    parts = media_parts(request.media, model, name)
    # Text before images: providers read parts in order, and a common beginning is cached.
    content = [{"type": "text", "text": request.text}, *parts] if parts else request.text
    system = [{"role": "system", "content": request.system}] if request.system else []
    body: dict[str, Any] = {
        "model": name.model,
        "messages": [*system, {"role": "user", "content": content}],
        model.max_tokens_name: request.max_tokens,
    }
    if model.temperature:
        body["temperature"] = 0
    if model.reasoning_effort and request.reasoning_effort:
        body["reasoning_effort"] = request.reasoning_effort
    response_format = _response_format(request, json_output or model.json_output)
    if response_format:
        body["response_format"] = response_format
    if model.dialect == "openrouter":
        body["provider"] = provider_preferences(model, needs_all="response_format" in body)
    return body


def _response_format(request: ChatRequest, json_output: JsonOutput) -> dict[str, Any] | None:
    if request.schema is None or json_output == "none":
        return None
    if json_output == "object":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": request.role, "strict": True, "schema": request.schema}}


def provider_preferences(model: Capabilities, needs_all: bool = False) -> dict[str, Any]:
    """OpenRouter's routing: footage is private, and a schema must not be dropped on the way."""
    preferences: dict[str, Any] = {"data_collection": model.data_collection}
    if needs_all:
        preferences["require_parameters"] = True
    return preferences


def read_reply(body: Any, request: ChatRequest, model: Capabilities) -> ChatReply:
    """The reply in a response body. Raises BrokenReply when there is none."""
    if not isinstance(body, dict):
        raise BrokenReply("its answer was not a JSON object")
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else {}
    message = first.get("message") if isinstance(first, dict) else None
    text = _text(message.get("content") or message.get("refusal")) if isinstance(message, dict) else ""
    usage = _usage(body.get("usage"), text, request, model)
    if not isinstance(message, dict):
        raise BrokenReply("its answer held no choice", usage)
    finish = str(first.get("finish_reason") or "stop")
    if finish == "error" or (not text.strip() and finish not in ("length", "content_filter")):
        raise BrokenReply("its answer was empty", usage)
    return ChatReply(text, usage, finish)


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _usage(given: Any, text: str, request: ChatRequest, model: Capabilities) -> Usage:
    """What the call used by the provider's word, or by estimate from a server that does not count."""
    usage = read_usage(given, model)
    if usage is None:
        tokens = input_tokens(request, model), text_tokens(text)
        return Usage(*tokens, token_cost(model, *tokens))
    return usage


def read_usage(given: Any, model: Capabilities) -> Usage | None:
    """Tokens and cost from a response's `usage`; its own cost where it says one, else tokens by price."""
    if not isinstance(given, dict) or not isinstance(given.get("prompt_tokens"), int):
        return None
    prompt_tokens, completion_tokens = given["prompt_tokens"], given.get("completion_tokens") or 0
    cost = given.get("cost")
    if isinstance(cost, (int, float)):
        details = given.get("cost_details")
        if given.get("is_byok") and isinstance(details, dict):  # a key of one's own: the vendor bills apart
            cost += details.get("upstream_inference_cost") or 0
        return Usage(prompt_tokens, completion_tokens, float(cost))
    dollars = token_cost(model, prompt_tokens, completion_tokens)
    details = given.get("prompt_tokens_details")
    heard = details.get("audio_tokens") or 0 if isinstance(details, dict) else 0
    if dollars is not None and heard and model.usd_per_million_audio_input is not None:
        dollars += heard * (model.usd_per_million_audio_input - (model.usd_per_million_input or 0.0)) / 1e6
    return Usage(prompt_tokens, completion_tokens, dollars)
