"""What the Batch API is sent and gives back as files, and the memory's note of the batches it waits for."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from amr.errors import BadInput

CHAT_ENDPOINT: Final = "/v1/chat/completions"
_MOST_LINES = 50_000
_MOST_BYTES = 100_000_000

_writing = threading.Lock()


@dataclass(frozen=True)
class InputFile:
    """A file of requests: JSON lines, and the ids of the requests in it."""

    content: bytes
    ids: tuple[str, ...]


def input_files(
    bodies: Iterable[tuple[str, dict[str, Any]]], most_lines: int = _MOST_LINES, most_bytes: int = _MOST_BYTES
) -> Iterator[InputFile]:
    """Requests, each with its id, as files that the API takes; a request is never split."""
    lines: list[bytes] = []
    ids: list[str] = []
    size = 0
    for identity, body in bodies:
        row = {"custom_id": identity, "method": "POST", "url": CHAT_ENDPOINT, "body": body}
        line = json.dumps(row, ensure_ascii=True).encode() + b"\n"
        if lines and (len(lines) >= most_lines or size + len(line) > most_bytes):
            yield InputFile(b"".join(lines), tuple(ids))
            lines, ids, size = [], [], 0
        lines.append(line)
        ids.append(identity)
        size += len(line)
    if lines:
        yield InputFile(b"".join(lines), tuple(ids))


def read_results(content: str) -> dict[str, dict[str, Any]]:
    """The results in an output or error file by the id of their request; a line that cannot be read is left out."""
    results: dict[str, dict[str, Any]] = {}
    for line in content.splitlines():
        try:
            row = json.loads(line)
            results[str(row["custom_id"])] = row
        except (ValueError, KeyError, TypeError):
            continue
    return results


@dataclass(frozen=True)
class Submission:
    """A batch that was, or may have been, submitted. `token` is in its metadata, `batch` its id once known.

    `requests` goes from the id of each request to what it is for: role, prompt and the prompt's hash. It is empty
    once every result is kept; then only `leftover` files are to be deleted at the provider.
    """

    token: str
    model: str
    input_file: str
    created_s: int
    requests: dict[str, list[str]]
    batch: str = ""
    leftover: list[str] = field(default_factory=list)

    def collected(self, files: list[str]) -> Submission:
        """The same, its results kept, with what is left to delete."""
        return replace(self, requests={}, leftover=files)


class Submissions:
    """The batches that a memory waits for, in `batches.json` of its calls folder. No request and no key is in it."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "batches.json"

    def of(self, model: str) -> list[Submission]:
        """Those of one model, oldest first. Raises BadInput when the file is damaged."""
        return [entry for entry in self._read() if entry.model == model]

    def keep(self, entry: Submission) -> None:
        """Notes a batch, or what is new about it; on disk when this returns."""
        with _writing:
            entries = self._read()
            known = any(other.token == entry.token for other in entries)
            if known:
                entries = [entry if other.token == entry.token else other for other in entries]
            self._write(entries if known else [*entries, entry])

    def drop(self, entry: Submission) -> None:
        """Forgets a batch."""
        with _writing:
            self._write([other for other in self._read() if other.token != entry.token])

    def _read(self) -> list[Submission]:
        if not self._file.exists():
            return []
        try:
            return [Submission(**row) for row in json.loads(self._file.read_bytes())["batches"]]
        except (ValueError, KeyError, TypeError):
            # To go on without it would be to submit, and to pay, again.
            raise BadInput(
                f"{self._file} is damaged, so the batches under way cannot be found; "
                "delete it to submit their requests again."
            ) from None

    def _write(self, entries: list[Submission]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        partial = self._file.with_suffix(".partial")
        with partial.open("wb") as stream:
            stream.write(json.dumps({"batches": [asdict(entry) for entry in entries]}, indent=1).encode())
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(self._file)
        descriptor = os.open(self._file.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
