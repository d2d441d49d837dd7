"""Content hashes: what makes equal observations give equal roots on any machine (design §4, after WorldDB §2.1)."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from blake3 import blake3

_MODULUS = 1 << 256
_MAYBE_FLOAT = re.compile(r"[:\[,](?=[-\dIN])(?:-?\d+[.eE]|-?Infinity|NaN)")
"""A float inside of something. What begins with two sets of characters is searched for six times as fast."""


def canonical_json(value: Any) -> str:
    """JSON with NFC text, sorted keys and no spaces. Raises TypeError on floats, which differ by machine."""
    as_given = _json(value)
    # Most text is NFC already; to find that out from the result is ten times as fast as to go through the value.
    if unicodedata.is_normalized("NFC", as_given) and not _MAYBE_FLOAT.search(as_given) and type(value) is not float:
        return as_given
    return _json(_canonical(value))


_json = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode


def _canonical(value: Any) -> Any:
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, (list, tuple)):
        return [_canonical(item) for item in value]
    if isinstance(value, dict):
        return {unicodedata.normalize("NFC", key): _canonical(item) for key, item in value.items()}
    raise TypeError(f"{type(value).__name__} cannot be hashed: use integers, text, lists and dicts")


def node_hash(
    kind: str,
    scope: str,
    source_key: str,
    t_start_ms: int | None,
    t_end_ms: int | None,
    text: str,
    payload: dict[str, Any],
) -> str:
    """BLAKE3 (hex) of a node's content; ids, commits, paths and embeddings are not part of it."""
    content = [kind, scope, source_key, t_start_ms, t_end_ms, text, payload]
    return blake3(canonical_json(content).encode()).hexdigest()


def canonical_text(text: str) -> str:
    """As `canonical_json` of a text."""
    return _text_json(unicodedata.normalize("NFC", text))


_text_json = json.encoder.encode_basestring


def ready_hash(*parts: str) -> str:
    """BLAKE3 (hex) of a list whose items are canonical JSON already: a node's or an edge's content, in order."""
    return blake3(f"[{','.join(parts)}]".encode()).hexdigest()


def edge_hash(channel: str, src_hash: str, dst_hash: str, payload: dict[str, Any]) -> str:
    """BLAKE3 (hex) of an edge: its channel, the content of both ends and its payload."""
    return blake3(canonical_json([channel, src_hash, dst_hash, payload]).encode()).hexdigest()


def add_to_sum(total: str, added: int) -> str:
    """A world's sum (hex, 64 digits) with `added` (may be negative) added modulo 2**256."""
    return f"{(int(total, 16) + added) % _MODULUS:064x}"


def world_hash(own: str, total: str) -> str:
    """The hash of a world: BLAKE3 of its own hash and the sum of its live descendants and edges."""
    return blake3(f"{own}|{total}".encode()).hexdigest()


EMPTY_SUM = "0" * 64
