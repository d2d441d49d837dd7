"""The subset of JSON Schema that strict structured outputs allow, and values cut to fit a schema."""

from __future__ import annotations

import re
from typing import Any

_ALLOWED = {
    "type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref", "$defs",
    "definitions", "title", "description", "pattern", "format", "multipleOf", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems", "$schema",
}  # fmt: skip
_TYPES = {"object", "array", "string", "number", "integer", "boolean", "null"}
_DEEPEST = 10
_MOST_PROPERTIES = 5000


def schema_fault(wrapper: Any) -> str | None:
    """What is wrong with a `json_schema` object of `response_format`; None when it would be accepted."""
    if not isinstance(wrapper, dict):
        return "expected an object, but got something else"
    unknown = set(wrapper) - {"name", "description", "schema", "strict"}
    if unknown:
        return f"unknown key {sorted(unknown)[0]!r}"
    if not isinstance(wrapper.get("name"), str) or not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", wrapper["name"]):
        return "'name' must match ^[a-zA-Z0-9_-]{1,64}$"
    schema = wrapper.get("schema")
    if not isinstance(schema, dict):
        return "missing required parameter 'schema'"
    if wrapper.get("strict") is not True:
        return None
    if schema.get("type") != "object":
        return "schema must be a JSON Schema of 'type: \"object\"', at the root"
    if "anyOf" in schema:
        return "In context=(), 'anyOf' is not permitted at the root"
    counted = [0]
    return _fault(schema, schema, (), counted)


def _fault(schema: Any, root: dict[str, Any], path: tuple[str, ...], counted: list[int]) -> str | None:
    place = f"In context={path!r}, "
    if not isinstance(schema, dict):
        return place + "a schema must be an object"
    if sum(step == "properties" for step in path) > _DEEPEST:
        return place + f"nested deeper than {_DEEPEST} levels"
    unknown = sorted(set(schema) - _ALLOWED)
    if unknown:
        return place + f"'{unknown[0]}' is not permitted"
    if "$ref" in schema:
        others = sorted(set(schema) - {"$ref"})
        if others:
            return place + f"$ref cannot have keywords {others!r}"
        return None if _resolve(schema["$ref"], root) is not None else place + f"{schema['$ref']!r} does not resolve"
    if not ({"type", "anyOf", "enum", "const"} & set(schema)):
        return place + "schema must have a 'type' key"
    types = schema.get("type", [])
    if any(kind not in _TYPES for kind in ([types] if isinstance(types, str) else types)):
        return place + f"{types!r} is not a type"
    for fault in (_object_fault(schema, place, counted), _array_fault(schema, place)):
        if fault:
            return fault
    for step, part in _parts(schema):
        fault = _fault(part, root, (*path, *step), counted)
        if fault:
            return fault
    return None


def _object_fault(schema: dict[str, Any], place: str, counted: list[int]) -> str | None:
    if schema.get("type") != "object" and "object" not in _as_list(schema.get("type")):
        return None
    if schema.get("additionalProperties") is not False:
        return place + "'additionalProperties' is required to be supplied and to be false"
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return place + "'properties' is required for an object"
    counted[0] += len(properties)
    if counted[0] > _MOST_PROPERTIES:
        return f"more than {_MOST_PROPERTIES} properties"
    required = schema.get("required")
    if not isinstance(required, list) or set(required) != set(properties):
        missing = sorted(set(properties) ^ set(required or []))
        return (
            place + "'required' is required to be supplied and to be an array including every key in properties. "
            f"Missing or extra {missing[:1]!r}"
        )
    return None


def _array_fault(schema: dict[str, Any], place: str) -> str | None:
    if "array" in _as_list(schema.get("type")) and "items" not in schema:
        return place + "array schema missing items"
    return None


def _parts(schema: dict[str, Any]) -> list[tuple[tuple[str, ...], Any]]:
    parts: list[tuple[tuple[str, ...], Any]] = []
    for name in ("properties", "$defs", "definitions"):
        parts += [((name, key), part) for key, part in schema.get(name, {}).items()]
    parts += [(("anyOf", str(n)), part) for n, part in enumerate(schema.get("anyOf", []))]
    if "items" in schema:
        parts.append((("items",), schema["items"]))
    return parts


def _resolve(reference: Any, root: dict[str, Any]) -> Any:
    if reference == "#":
        return root
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    found: Any = root
    for step in reference[2:].split("/"):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def fitted(value: Any, schema: dict[str, Any] | None) -> Any:
    """The value as a model bound by the schema would give it: in its order of keys, without any other key.

    A key that the value lacks gets an empty value of its type. A list of objects where the schema wants a list
    of strings becomes the strings of the key named like the list's singular, or of the last text in each.
    """
    return value if schema is None else _fit(value, schema, schema)


def _fit(value: Any, schema: dict[str, Any], root: dict[str, Any], name: str = "") -> Any:
    if "$ref" in schema:
        schema = _resolve(schema["$ref"], root)
    if "anyOf" in schema:
        schema = next((part for part in schema["anyOf"] if _suits(value, part, root)), schema["anyOf"][0])
        return _fit(value, schema, root, name)
    if "properties" in schema:
        given = value if isinstance(value, dict) else {}
        return {key: _fit(given.get(key), part, root, key) for key, part in schema["properties"].items()}
    kinds = _as_list(schema.get("type"))
    if "array" in kinds and isinstance(value, list):
        return [_fit(item, schema.get("items", {}), root, name) for item in value]
    if "enum" in schema:
        return value if value in schema["enum"] else schema["enum"][-1]
    if "string" in kinds and isinstance(value, dict):
        texts = [part for part in value.values() if isinstance(part, str)]
        return value.get(name.rstrip("s"), texts[-1] if texts else "")
    if value is not None or "null" in kinds:
        return value
    empty = {"array": [], "string": "", "number": 0, "integer": 0, "boolean": True}
    return next((empty[kind] for kind in kinds if kind in empty), None)


def _suits(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    if "$ref" in schema:
        schema = _resolve(schema["$ref"], root)
    kind = schema.get("type", "object" if "properties" in schema else None)
    names = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    if kind in names:
        return isinstance(value, names[kind])
    return kind in ("number", "integer") and isinstance(value, int | float)
