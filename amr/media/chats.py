"""Chats: who said what in which session of which haystack, from the package's chat JSONL or a benchmark's own file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from amr.errors import BadInput
from amr.media.lines import inner_suffix, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

_SUFFIXES = (".json", ".jsonl")
_PEEK = 1 << 20
_TOLD_BY = {
    **dict.fromkeys(("question_id", "haystack_sessions", "haystack_dates"), "longmemeval"),
    **dict.fromkeys(("sample_id", "conversation"), "locomo"),
    **dict.fromkeys(("chat", "probing_questions"), "beam"),
}
_LINE_KEYS = ("session", "speaker", "turn_id")
"""Keys that tell whose file it is: no other format that amr reads has one of them at the top."""


@dataclass(frozen=True)
class Turn:
    """What somebody said at once. `ref` is the source's own name for it; `role` is `user`, `assistant`, or another."""

    speaker: str
    text: str
    ref: str
    role: str | None = None
    image_caption: str = ""

    @property
    def words(self) -> str:
        """What is said, with what the picture shows that goes with it."""
        return f"{self.text} [image: {self.image_caption}]".lstrip() if self.image_caption else self.text

    @property
    def line(self) -> str:
        """The words with who says them."""
        return f"{self.speaker}: {self.words}"


@dataclass(frozen=True)
class Session:
    """A conversation at one sitting; `time_ms` is the wall clock since the epoch in UTC, None when it is unknown."""

    ref: str
    time_ms: int | None
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class Haystack:
    """The sessions of one life, in the order of the file; `problems` are sentences on what could not be read."""

    name: str
    sessions: tuple[Session, ...]
    problems: tuple[str, ...] = ()


def is_chats(path: Path) -> bool:
    """Whether a file holds chats, by its name and its first keys."""
    return path.is_file() and inner_suffix(path) in _SUFFIXES and _format_of(path) != ""


def read_chats(path: Path) -> Iterator[Haystack]:
    """The haystacks of a file: chat JSONL, LongMemEval, LoCoMo or BEAM, told by content; `.gz` of each too.

    A fault in the chat JSONL refuses the file as a whole, before anything is given; one in a benchmark's file is
    told in the haystack's problems, and what can be kept is kept. Raises BadInput.
    """
    name = _format_of(path)
    if name == "lines":
        from amr.media.chat_lines import read_chat_lines

        yield from read_chat_lines(path)
    elif name:
        yield from _items(path, _reader(name))
    else:
        raise BadInput(f"{path} holds no chats that amr knows; `amr schema chat` shows what a line of a chat is.")


def chosen_chats(path: Path, name: str | None, check: Callable[[str], None]) -> Iterator[Haystack]:
    """The haystacks of a file, or of several the one of a name; each name is checked before anything is given of it.

    Raises BadInput, and what `check` raises.
    """
    found = read_chats(path)
    first = list(islice(found, 2))
    if name is not None and len(first) > 1:
        names: list[str] = []
        for one in chain(first, found):
            if one.name == name:
                check(name)
                return iter([one])
            names.append(one.name)
        raise BadInput(f"{path} has no haystack named {name!r}; it has {', '.join(names[:10])}.")
    return _checked(chain(first, found), check)


def _checked(haystacks: Iterable[Haystack], check: Callable[[str], None]) -> Iterator[Haystack]:
    for one in haystacks:
        check(one.name)
        yield one


def _format_of(path: Path) -> str:
    """`longmemeval`, `locomo`, `beam`, `lines`, or nothing."""
    with opened(path) as file:
        head = file.read(_PEEK).decode("utf-8-sig", "replace").lstrip()
    in_array = head.startswith("[")
    for key in _first_keys(head[in_array:].lstrip()):
        if key in _TOLD_BY:
            return _TOLD_BY[key]
        if key in _LINE_KEYS and not in_array:
            return "lines"
    return ""


def _first_keys(text: str) -> Iterator[str]:
    """The keys of the object that a text begins with, as far as the text goes."""
    depth, at, is_key = 0, 0, False
    while at < len(text):
        letter = text[at]
        if letter == '"':
            end = at + 1
            while end < len(text) and text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            if is_key:
                yield text[at + 1 : end]
            at, is_key = end, False
        elif letter in "{[":
            depth += 1
            is_key = letter == "{" and depth == 1
        elif letter in "}]":
            depth -= 1
        elif letter == ",":
            is_key = depth == 1
        if not depth:
            return
        at += 1


def _reader(name: str) -> Callable[[dict[str, Any]], Haystack]:
    if name == "longmemeval":
        from amr.media.longmemeval import haystack
    elif name == "locomo":
        from amr.media.locomo import haystack
    else:
        from amr.media.beam import haystack
    return haystack


def _items(path: Path, read: Callable[[dict[str, Any]], Haystack]) -> Iterator[Haystack]:
    from amr.media.json_values import json_values

    number = 0
    with opened(path) as file:
        for number, item in enumerate(json_values(path, file), start=1):
            if not isinstance(item, dict):
                yield Haystack(f"{_stem(path)}-{number}", (), (f"Record {number} of {path.name} is no JSON object.",))
                continue
            found = read(item)
            yield found if found.name else Haystack(f"{_stem(path)}-{number}", found.sessions, found.problems)
    if not number:
        raise BadInput(f"{path} is empty; give a file with at least one record.")


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").rpartition(".")[0] or path.name


class Faults:
    """Collects what is wrong in one record of a benchmark's file, and reads what is right."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._found: list[str] = []

    def note(self, where: str, what: str) -> None:
        """Takes note of a fault: a place in the record, such as `session D3`, and what is wrong there."""
        self._found.append(f"{', '.join(part for part in (self._name, where) if part)}: {what}.")

    def items(self, record: dict[str, Any], key: str, where: str = "") -> list[Any]:
        """A list under a key; none, with a note, where there is no list."""
        value = record.get(key)
        if isinstance(value, list):
            return value
        self.note(where, f"{key!r} is missing" if value is None else f"{key!r} is no list")
        return []

    def text(self, record: dict[str, Any], key: str) -> str:
        """The words under a key, without white space around them; "" where there are none."""
        value = record.get(key)
        return value.strip() if isinstance(value, str) else ""

    def turn(self, ref: str, record: Any, text: str) -> Turn | None:
        """A turn between a user and an assistant that says this; None, with a note, where it says nothing."""
        if not text:
            self.note(f"turn {ref}", "there is no text")
            return None
        role = self.text(record, "role")
        if not role:
            self.note(f"turn {ref}", "'role' is missing, so nobody is known to have said it")
        return Turn(role or "someone", text, ref, role or None)

    def told(self) -> tuple[str, ...]:
        """The faults as sentences; of very many, the first and how many more there are."""
        return tuple(chain(self._found[:_MOST_FAULTS], self._rest()))

    def _rest(self) -> list[str]:
        more = len(self._found) - _MOST_FAULTS
        return [f"{self._name}: {more} more faults."] if more > 0 else []


_MOST_FAULTS = 20


def time_of(text: Any, *forms: str) -> int | None:
    """A date without a zone, in one of some forms of strptime, in ms since the epoch in UTC; None when it is none."""
    for form in forms if isinstance(text, str) else ():
        try:
            return round(
                datetime.strptime(" ".join(text.split()), form).replace(tzinfo=timezone.utc).timestamp() * 1000
            )
        except ValueError:
            continue
    return None
