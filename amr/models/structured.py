"""Replies that must be JSON of a given shape: asked for, read, mended where that is safe, and asked for once more.

No failure turns into a default: a key that is missing or of the wrong type is asked for again, a reply that was
cut off is never completed by guessing, and whatever was mended is counted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from amr.models.calls import RecordedChat
from amr.models.chat import ChatReply, ChatRequest, ReplyUnusable, Usage
from amr.models.prompts import Prompt

_Shape = TypeVar("_Shape", bound=BaseModel)

_KEPT = {"type", "enum", "const", "description", "$ref", "anyOf", "items", "properties", "$defs"}
_DROPPED = {
    *("title", "default", "examples", "format", "pattern", "required", "additionalProperties", "uniqueItems"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "minItems", "maxItems"),
}
_FENCE = re.compile(r"^\s*```[A-Za-z]*[ \t]*\n(.*?)\n?\s*```\s*$", re.DOTALL)
_MOST_PROBLEMS = 10


@dataclass(frozen=True)
class Structured(Generic[_Shape]):
    """A reply that has the shape asked for. `raw` is its text as it came; `salvages` counts what had to be done.

    Kinds of salvage: `fences`, `prose`, `repaired`, `extra_keys` (one for each key dropped), `reasked`.
    """

    value: _Shape
    raw: str
    usage: Usage
    salvages: Counter[str] = field(default_factory=Counter)


class _Unfit(Exception):
    """The reply cannot be used; the text says why, in words for the model."""


def ask_json(
    model: RecordedChat,
    request: ChatRequest,
    shape: type[_Shape],
    strict: Callable[[str, str], Prompt],
    check: Callable[[_Shape], Sequence[str]] = lambda _: (),
) -> Structured[_Shape]:
    """Asks for JSON of a shape. `strict(problem, raw)` renders the stricter prompt for the one re-ask.

    `check` says what is wrong with a reply of the right shape, in words for the model; nothing if it makes sense.
    Raises ReplyUnusable with the last raw text when that reply cannot be used either; both replies are then set
    aside, so that a later run asks again.
    """
    schema = strict_schema(shape)
    salvages: Counter[str] = Counter()
    first = replace(request, schema=schema)
    reply = model.complete(first)
    try:
        return Structured(_fit(reply, shape, schema, check, salvages), reply.text, reply.usage, salvages)
    except _Unfit as unfit:
        prompt = strict(str(unfit), reply.text)
    again = _again(first, prompt, cut_off=reply.finish_reason == "length")
    salvages["reasked"] += 1
    second = model.complete(again)
    try:
        value = _fit(second, shape, schema, check, salvages)
    except _Unfit as unfit:
        model.discard(first)
        model.discard(again)
        raise ReplyUnusable(
            f"The reply of {model.name} was not in the form asked for, nor was it when asked again ({unfit}).",
            second.text,
        ) from None
    return Structured(value, second.text, reply.usage + second.usage, salvages)


def _again(request: ChatRequest, prompt: Prompt, cut_off: bool) -> ChatRequest:
    """The re-ask; a reply that was cut off gets twice the room."""
    room = request.max_tokens * (2 if cut_off else 1)
    return replace(request, prompt=prompt.name, prompt_hash=prompt.hash, text=prompt.text, max_tokens=room)


def _fit(
    reply: ChatReply,
    shape: type[_Shape],
    schema: dict[str, Any],
    check: Callable[[_Shape], Sequence[str]],
    salvages: Counter[str],
) -> _Shape:
    """The reply as the shape. Raises _Unfit."""
    if reply.finish_reason == "length":
        raise _Unfit("the reply was cut off before its end: write less")
    if reply.finish_reason == "content_filter":
        raise _Unfit("the reply was withheld by a content filter")
    value = _parsed(reply.text, salvages)
    problems: list[str] = []
    extra: Counter[str] = Counter()
    value = _pruned(value, schema, schema.get("$defs", {}), "", problems, extra)
    if problems:
        raise _Unfit("; ".join(problems[:_MOST_PROBLEMS]))
    try:
        fitting = shape.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        raise _Unfit("; ".join(map(_problem, error.errors()[:_MOST_PROBLEMS]))) from None
    wrong = check(fitting)
    if wrong:
        raise _Unfit("; ".join(wrong[:_MOST_PROBLEMS]))
    salvages.update(extra)
    return fitting


def _problem(error: Any) -> str:
    return f"{'.'.join(map(str, error['loc']))}: {error['msg']}"


def _parsed(text: str, salvages: Counter[str]) -> dict[str, Any]:
    """The one JSON object in a text. Raises _Unfit when there is none."""
    fenced = _FENCE.match(text)
    body = fenced.group(1) if fenced else text.strip()
    value = _loads(body)
    how = ["fences"] if fenced else []
    if value is None:
        value = _object_within(body)
        how.append("prose")
    if value is None:
        value = _repaired(body)
        how[-1] = "repaired"
    if not isinstance(value, dict):
        raise _Unfit("the reply was not a single complete JSON object")
    salvages.update(how)
    return value


def _loads(text: str) -> Any:
    """The value of a JSON text, or None. NaN and Infinity are no JSON."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _object_within(text: str) -> Any:
    """The JSON object in a text around which there is only prose, or None. Two objects leave it open which is meant."""
    start = text.find("{")
    if start < 0:
        return None
    try:
        value, end = json.JSONDecoder(parse_constant=_refuse).raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return value if "{" not in text[end:] else None


def _repaired(text: str) -> Any:
    """The object in a text with small faults, such as a comma too many, or None.

    A text that ends inside its object is left alone: to close it would lose what was still to come.
    """
    start = text.find("{")
    end = _end_of_object(text[start:]) if start >= 0 else 0
    if not end or "{" in text[start + end :]:
        return None
    from json_repair import loads

    return loads(text[start : start + end]) or None


def _end_of_object(text: str) -> int:
    """Where the object that a text begins with is closed, 0 when it is not: brackets are counted outside quotes."""
    depth, quoted, escaped = 0, False, False
    for place, character in enumerate(text):
        if escaped:
            escaped = False
        elif quoted:
            escaped = character == "\\"
            quoted = character != '"'
        elif character == '"':
            quoted = True
        elif character in "{[":
            depth += 1
        elif character in "}]":
            depth -= 1
            if depth == 0:
                return place + 1
    return 0


def _pruned(
    value: Any, schema: dict[str, Any], defs: dict[str, Any], path: str, problems: list[str], extra: Counter[str]
) -> Any:
    """A value without the keys its schema does not know; keys that are missing are noted as problems."""
    schema = _chosen(value, schema, defs)
    if isinstance(value, list) and "items" in schema:
        return [
            _pruned(item, schema["items"], defs, f"{path}.{number}".lstrip("."), problems, extra)
            for number, item in enumerate(value)
        ]
    if not isinstance(value, dict) or "properties" not in schema:
        return value
    known = schema["properties"]
    extra.update(["extra_keys" for key in value if key not in known])
    problems += [f"{path}.{key}: missing".lstrip(".") for key in known if key not in value]
    return {
        key: _pruned(value[key], known[key], defs, f"{path}.{key}".lstrip("."), problems, extra)
        for key in known
        if key in value
    }


def _chosen(value: Any, schema: dict[str, Any], defs: dict[str, Any]) -> dict[str, Any]:
    """The part of a schema that a value is meant for: references followed, the fitting alternative taken."""
    if "$ref" in schema:
        return _chosen(value, defs[schema["$ref"].rpartition("/")[2]], defs)
    for option in schema.get("anyOf", []) if isinstance(value, (dict, list)) else []:
        chosen = _chosen(value, option, defs)
        if chosen.get("type") == ("object" if isinstance(value, dict) else "array"):
            return chosen
    return schema


def strict_schema(shape: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a shape in the subset that providers enforce: every key required, none but these.

    Limits, formats and defaults are left out; the shape itself checks them afterwards. Raises TypeError for what the
    subset cannot say, such as a dict with free keys.
    """
    return _strict(shape.model_json_schema())


def _strict(schema: dict[str, Any]) -> dict[str, Any]:
    schema = dict(schema)
    if "oneOf" in schema:
        schema["anyOf"] = schema.pop("oneOf")
        schema.pop("discriminator", None)
    unknown = schema.keys() - _KEPT - _DROPPED
    if unknown or not schema.keys() & {"type", "enum", "const", "$ref", "anyOf"}:
        raise TypeError(f"a strict schema cannot say {sorted(unknown) or 'any value'}")
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    strict: dict[str, Any] = {key: schema[key] for key in ("type", "enum", "description") if key in schema}
    if "const" in schema:
        strict["enum"] = [schema["const"]]
    if "anyOf" in schema:
        strict["anyOf"] = [_strict(option) for option in schema["anyOf"]]
    if schema.get("type") == "array":
        strict["items"] = _strict(schema.get("items", {}))
    if schema.get("type") == "object":
        strict = {"type": "object", **_strict_object(schema)}  # its description is the class's, for programmers
    if "$defs" in schema:
        strict["$defs"] = {name: _strict(part) for name, part in schema["$defs"].items()}
    return strict


def _strict_object(schema: dict[str, Any]) -> dict[str, Any]:
    if "properties" not in schema and schema.get("additionalProperties", True) is not False:
        raise TypeError("a strict schema cannot say an object with free keys")
    properties = {name: _strict(part) for name, part in schema.get("properties", {}).items()}
    return {"properties": properties, "required": list(properties), "additionalProperties": False}
