"""What the real servers accept: every request is checked before anything is done with it."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.support.model_server_schema import schema_fault

if TYPE_CHECKING:
    from tests.support.model_server_models import Model


class Refused(Exception):
    """A request that the server turns down."""

    def __init__(
        self, status: int, message: str, code: str | None = None, param: str | None = None, headers: Any = ()
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.param = status, message, code, param
        self.headers = dict(headers)


@dataclass
class Part:
    """A piece of media as it was sent: `kind` is "image", "video" or "audio"; `before` the text just before it."""

    kind: str
    data: bytes
    media_type: str
    before: str = ""


@dataclass
class Chat:
    """A chat request that passed: its texts, its media in order, what it wants."""

    body: dict[str, Any]
    texts: list[str] = field(default_factory=list)
    user_texts: list[str] = field(default_factory=list)
    media: list[Part] = field(default_factory=list)
    schema_name: str | None = None
    schema: dict[str, Any] | None = None
    most_tokens: int | None = None


_CHAT_FIELDS = {
    "messages", "model", "audio", "frequency_penalty", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens",
    "metadata", "modalities", "n", "parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key",
    "reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "stream",
    "stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity",
}  # fmt: skip
_ROUTER_FIELDS = {
    "provider", "models", "route", "transforms", "plugins", "usage", "reasoning", "include_reasoning", "top_k", "top_a",
    "min_p", "repetition_penalty",
}  # fmt: skip
_LOCAL_FIELDS = {
    "top_k", "min_p", "repetition_penalty", "guided_json", "chat_template_kwargs", "mm_processor_kwargs",
}  # fmt: skip
_PROVIDER_FIELDS = {
    "order", "allow_fallbacks", "require_parameters", "data_collection", "zdr", "enforce_distillable_text", "only",
    "ignore", "quantizations", "sort", "max_price", "preferred_min_throughput", "preferred_max_latency",
}  # fmt: skip
_PARTS = {"text": {"text"}, "image_url": {"image_url"}, "input_audio": {"input_audio"}, "video_url": {"video_url"}}
_IMAGES = {"image/jpeg", "image/png", "image/webp", "image/gif"}
_VIDEOS = {"video/mp4", "video/mpeg", "video/mov", "video/quicktime", "video/webm"}
_SOUNDS = {
    "openai": {"wav", "mp3"},
    "local": {"wav", "mp3", "flac", "ogg"},
    "openrouter": {"wav", "mp3", "flac", "m4a", "ogg", "aac", "aiff", "pcm16", "pcm24"},
}
_ROLES = {"system", "developer", "user", "assistant", "tool"}
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,(.*)", re.DOTALL)


def read_chat(body: Any, mode: str, model: Model, largest_media: int) -> Chat:
    """Checks a chat request; raises Refused."""
    extra = {"openrouter": _ROUTER_FIELDS, "local": _LOCAL_FIELDS}.get(mode, set())
    _only(body, _CHAT_FIELDS | extra)
    if model.kind != "chat":
        raise Refused(404, "This is not a chat model and thus not supported in the v1/chat/completions endpoint.")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refused(400, "Invalid 'messages': expected an array with minimum length 1.", "empty_array", "messages")
    chat = Chat(body)
    _read_numbers(body)
    _read_limits(chat, mode, model)
    for number, message in enumerate(messages):
        _read_message(chat, message, f"messages[{number}]", mode)
    _read_format(chat, mode, model)
    _read_provider(body.get("provider"), chat, model)
    for part in chat.media:
        if len(part.data) > largest_media:
            raise Refused(413, f"The {part.kind} is {len(part.data)} bytes; at most {largest_media} are allowed.")
        if part.kind not in model.accepts:
            _refuse_media(part.kind, mode, model)
    if body.get("stream"):
        raise Refused(400, "This server does not stream.", "unsupported_value", "stream")
    return chat


def _refuse_media(kind: str, mode: str, model: Model) -> None:
    if mode == "openrouter":
        raise Refused(404, f"No endpoints found that support {kind} input")
    if mode == "local":
        raise Refused(400, f"{model.name} is not a multimodal model: at most 0 {kind}(s) may be provided in one prompt")
    if kind == "image":
        raise Refused(400, "Invalid content type. image_url is only supported by certain models.", None, "messages")
    raise Refused(400, f"This model does not support {kind} inputs.", "unsupported_value", "messages")


def _only(body: Any, fields: set[str], where: str = "") -> None:
    if not isinstance(body, dict):
        raise Refused(400, "We could not parse the JSON body of your request: expected an object.")
    unknown = sorted(set(body) - fields)
    if unknown:
        name = f"{where}.{unknown[0]}" if where else unknown[0]
        if where:
            raise Refused(400, f"Unknown parameter: '{name}'.", "unknown_parameter", name)
        raise Refused(400, f"Unrecognized request argument supplied: {name}", None, name)


def _read_numbers(body: dict[str, Any]) -> None:
    bounds = {"temperature": (0, 2), "top_p": (0, 1), "presence_penalty": (-2, 2), "frequency_penalty": (-2, 2)}
    for name, (least, most) in bounds.items():
        value = body.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Refused(400, f"Invalid type for '{name}': expected a decimal.", "invalid_type", name)
        if not least <= value <= most:
            raise Refused(400, f"Invalid '{name}': must be between {least} and {most}.", "decimal_out_of_range", name)
    for name in ("n", "seed", "max_tokens", "max_completion_tokens"):
        value = body.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise Refused(400, f"Invalid type for '{name}': expected an integer.", "invalid_type", name)
        if value is not None and name != "seed" and value < 1:
            raise Refused(400, f"Invalid '{name}': integer below minimum value.", "integer_below_min_value", name)


def _read_limits(chat: Chat, mode: str, model: Model) -> None:
    body = chat.body
    if "max_tokens" in body and "max_completion_tokens" in body:
        raise Refused(400, "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
    if mode == "openai" and model.reasoning:
        if "max_tokens" in body:
            message = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
            raise Refused(400, f"Unsupported parameter: {message}", "unsupported_parameter", "max_tokens")
        if body.get("temperature", 1) != 1:
            message = "'temperature' does not support this value with this model. Only the default (1) is supported."
            raise Refused(400, f"Unsupported value: {message}", "unsupported_value", "temperature")
    if "reasoning_effort" in body:
        if mode != "openrouter" and not model.reasoning:
            message = "Unrecognized request argument supplied: reasoning_effort"
            raise Refused(400, message, None, "reasoning_effort")
        if body["reasoning_effort"] not in ("none", "minimal", "low", "medium", "high", "xhigh"):
            raise Refused(400, "Invalid value for 'reasoning_effort'.", "invalid_value", "reasoning_effort")
    chat.most_tokens = body.get("max_completion_tokens", body.get("max_tokens"))
    if chat.most_tokens and chat.most_tokens > model.most_output and mode == "openai":
        message = f"max_tokens is too large: {chat.most_tokens}. This model supports at most {model.most_output}"
        raise Refused(400, f"{message} completion tokens.", "invalid_value", "max_tokens")


def _read_message(chat: Chat, message: Any, where: str, mode: str) -> None:
    _only(message, {"role", "content", "name", "refusal", "tool_calls", "tool_call_id"}, where)
    role, content = message.get("role"), message.get("content")
    if role not in _ROLES:
        known = ", ".join(sorted(_ROLES))
        raise Refused(400, f"Invalid value: {role!r}. Supported values are: {known}.", "invalid_value", f"{where}.role")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list) or not content:
        raise Refused(400, f"Invalid type for '{where}.content'.", "invalid_type", f"{where}.content")
    before = ""
    for number, part in enumerate(content):
        place = f"{where}.content[{number}]"
        kind = str(part.get("type")) if isinstance(part, dict) else ""
        parts = set(_PARTS) - ({"video_url"} if mode == "openai" else set())
        if kind not in parts or (kind != "text" and role != "user"):
            supported = ", ".join(repr(name) for name in sorted(parts if role == "user" else {"text"}))
            text = f"Invalid value: {kind!r}. Supported values are: {supported}."
            raise Refused(400, text, "invalid_value", f"{place}.type")
        cached = {"cache_control"} if mode == "openrouter" else set()
        _only(part, {"type"} | cached | _PARTS[kind], place)
        if kind == "text":
            if not isinstance(part.get("text"), str):
                raise Refused(400, f"Missing required parameter: '{place}.text'.", "missing_required_parameter", place)
            chat.texts.append(part["text"])
            if role == "user":
                chat.user_texts.append(part["text"])
            before = part["text"]
        else:
            chat.media.append(_media(kind, part.get(kind), place, mode, before))
            before = ""


def _media(kind: str, value: Any, place: str, mode: str, before: str) -> Part:
    if not isinstance(value, dict):
        raise Refused(400, f"Invalid type for '{place}.{kind}': expected an object.", "invalid_type", place)
    if kind == "input_audio":
        _only(value, {"data", "format"}, f"{place}.{kind}")
        form = value.get("format")
        if form not in _SOUNDS[mode]:
            known = ", ".join(sorted(_SOUNDS[mode]))
            text = f"Invalid value: {form!r}. Supported values are: {known}."
            raise Refused(400, text, "invalid_value", f"{place}.input_audio.format")
        return Part("audio", _decoded(value.get("data"), place), f"audio/{form}", before)
    _only(value, {"url", "detail"} if kind == "image_url" else {"url"}, f"{place}.{kind}")
    if value.get("detail", "auto") not in ("auto", "low", "high"):
        raise Refused(400, f"Invalid value: {value['detail']!r}.", "invalid_value", f"{place}.{kind}.detail")
    url = value.get("url")
    match = _DATA_URL.fullmatch(url) if isinstance(url, str) else None
    if match is None:
        raise Refused(400, f"Invalid '{place}.{kind}.url': expected a base64-encoded data URL.", "invalid_value", place)
    if match[1] not in (_IMAGES if kind == "image_url" else _VIDEOS):
        code = "invalid_image_format" if kind == "image_url" else "invalid_value"
        raise Refused(400, f"You uploaded an unsupported media type: {match[1]}.", code, place)
    return Part(kind.removesuffix("_url"), _decoded(match[2], place), match[1], before)


def _decoded(text: Any, place: str) -> bytes:
    try:
        data = base64.b64decode(text if isinstance(text, str) else "!", validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if not data:
        raise Refused(400, f"Invalid base64 data in '{place}'.", "invalid_base64", place)
    return data


def _read_format(chat: Chat, mode: str, model: Model) -> None:
    wanted = chat.body.get("response_format")
    if wanted is None:
        return
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if kind == "json_schema":
        _only(wanted, {"type", "json_schema"}, "response_format")
        fault = schema_fault(wanted.get("json_schema"))
        if fault:
            name = wanted["json_schema"].get("name") if isinstance(wanted.get("json_schema"), dict) else None
            text = f"Invalid schema for response_format {name!r}: {fault}."
            raise Refused(400, text, "invalid_json_schema", "response_format")
        # OpenRouter leaves out what a provider does not take, unless it is told to require it.
        if not model.schema and mode != "openrouter":
            text = "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."
            raise Refused(400, text, None, "response_format")
        chat.schema_name = wanted["json_schema"]["name"]
        chat.schema = wanted["json_schema"]["schema"] if model.schema else None
    elif kind == "json_object":
        _only(wanted, {"type"}, "response_format")
        if mode == "openai" and not any("json" in text.lower() for text in chat.texts):
            text = (
                "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
            )
            raise Refused(400, text, None, "messages")
    elif kind != "text":
        raise Refused(400, f"Invalid value: {kind!r}.", "invalid_value", "response_format.type")


def _read_provider(provider: Any, chat: Chat, model: Model) -> None:
    if provider is None:
        return
    _only(provider, _PROVIDER_FIELDS, "provider")
    if provider.get("data_collection", "allow") not in ("allow", "deny"):
        raise Refused(400, "Invalid value for 'provider.data_collection'.", "invalid_value", "provider")
    if provider.get("require_parameters"):
        unmet = (chat.schema_name and not model.schema) or ("reasoning_effort" in chat.body and not model.reasoning)
        if unmet:
            raise Refused(404, "No endpoints found that can handle the requested parameters.")


def read_embeddings(body: Any, mode: str, model: Model) -> list[str]:
    """Checks an embeddings request and gives its texts; raises Refused."""
    extra = {"provider", "input_type"} if mode == "openrouter" else set()
    _only(body, {"input", "model", "dimensions", "encoding_format", "user"} | extra)
    if model.kind != "embedding":
        raise Refused(404, f"{model.name} is not an embedding model.")
    texts = body.get("input")
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise Refused(400, "'$.input' is invalid. Please check the API reference.", None, "input")
    if any(not text for text in texts) or len(texts) > 2048:
        raise Refused(400, "'$.input' is invalid: empty text, or more than 2048 texts.", None, "input")
    if any(len(text) > 4 * model.context for text in texts):
        text = f"This model's maximum context length is {model.context} tokens; please reduce your prompt."
        raise Refused(400, text, "context_length_exceeded", "input")
    dimensions = body.get("dimensions")
    if dimensions is not None and (not isinstance(dimensions, int) or not 1 <= dimensions <= model.dimensions):
        raise Refused(400, f"Invalid value for 'dimensions': at most {model.dimensions}.", None, "dimensions")
    if body.get("encoding_format", "float") not in ("float", "base64"):
        raise Refused(400, "Invalid value for 'encoding_format'.", "invalid_value", "encoding_format")
    return texts
