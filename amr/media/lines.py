"""Text files read line by line, packed by gzip or not."""

from __future__ import annotations

import gzip
import shutil
import tempfile
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, TypeVar

from amr.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pydantic import BaseModel

    Row = TypeVar("Row", bound=BaseModel)

MARK = b"\xef\xbb\xbf"
"""What some programs put before the first line of UTF-8 text."""


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, of a `.gz` one those inside it; any place in it can be sought. Raises BadInput."""
    try:
        with path.open("rb") as file:
            if path.suffix.lower() != ".gz":
                yield file
                return
            # Going back in a packed file means to unpack it anew, so it is unpacked once.
            with tempfile.TemporaryFile() as plain:
                try:
                    with gzip.GzipFile(fileobj=file) as packed:
                        shutil.copyfileobj(packed, plain, 1 << 20)
                except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                    raise BadInput(f"{path} is not a whole gzip file ({error}); copy it again.") from error
                plain.seek(0)
                yield plain
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}; check the path.") from error


def numbered_lines(file: IO[bytes]) -> Iterator[tuple[int, int, bytes]]:
    """The number, the place and the bytes of each line that is not blank."""
    offset = 0
    for number, raw in enumerate(file, start=1):
        if raw.strip(MARK + b" \t\r\n"):
            yield number, offset, raw
        offset += len(raw)


def read_row(kind: type[Row], where: str, raw: bytes, schema: str, strict: bool = True) -> Row:
    """A line of JSON as a row of some kind. Raises BadInput, with the place and the name of the schema.

    Unless `strict`, a number may stand for a text and the like.
    """
    from pydantic import ValidationError

    try:
        return kind.model_validate_json(raw.removeprefix(MARK).strip(), strict=strict)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        fault = {
            "extra_forbidden": f"unknown key {name!r}",
            "missing": f"the key {name!r} is missing",
        }.get(first["type"], f"{name}: {first['msg']}" if name else first["msg"])
        raise BadInput(f"{where}: {fault}; `amr schema {schema}` shows what a line is.") from error


def inner_suffix(path: Path) -> str:
    """What kind of file it is by its name, in small letters: `.jsonl` also for `.jsonl.gz`."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    return suffixes[0] if len(suffixes) == 2 and suffixes[1] == ".gz" else "".join(suffixes[-1:])
