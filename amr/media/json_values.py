"""The values of a JSON file, one after another: the items of one array, or JSON lines. Never the whole file at once."""

from __future__ import annotations

import io
import json
from typing import IO, TYPE_CHECKING, Any

from amr.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CHUNK = 1 << 20
_BETWEEN = " \t\r\n,"


def json_values(path: Path, file: IO[bytes]) -> Iterator[Any]:
    """The items of the array in `file`, else every value in it, in order. Raises BadInput with the item's number."""
    with io.TextIOWrapper(file, encoding="utf-8-sig") as text:
        try:
            yield from _values(path, text)
        except UnicodeDecodeError as error:
            raise BadInput(f"{path} is not UTF-8 ({error.reason} at byte {error.start}); convert it.") from error


def _values(path: Path, text: IO[str]) -> Iterator[Any]:
    decode = json.JSONDecoder().raw_decode
    buffer, at, size, number = text.read(_CHUNK), 0, _CHUNK, 0
    at = _skip(buffer, 0)
    in_array = buffer[at : at + 1] == "["
    at += in_array
    ended = False
    while True:
        at = _skip(buffer, at)
        if in_array and buffer[at : at + 1] == "]":
            return
        try:
            value, end = decode(buffer, at)
        except ValueError as error:
            more = "" if ended else text.read(size)
            if more:
                # An item of a haystack is long: it is begun again with twice as much, not with every chunk.
                buffer, at, size = buffer[at:] + more, 0, 2 * size
                continue
            ended = True
            if not buffer[at:].strip() and not in_array:
                return
            raise BadInput(f"{path}, item {number + 1}: this is no whole JSON ({error}); correct the file.") from error
        number += 1
        yield value
        at = end
        if at > _CHUNK:
            buffer, at = buffer[at:], 0


def _skip(buffer: str, at: int) -> int:
    while at < len(buffer) and buffer[at] in _BETWEEN:
        at += 1
    return at
