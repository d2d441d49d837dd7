"""Reads the chat JSONL: one turn a line, of any number of sessions and haystacks, which may be mixed.

A session has the date of its first line. The file is read whole before anything of it is given, so that a line that is
wrong refuses it as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from amr.errors import BadInput
from amr.media.chats import Haystack, Session, Turn
from amr.media.events import wall_ms
from amr.media.lines import numbered_lines, opened, read_row
from amr.records import ChatRow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass
class _Open:
    """A session as far as it is read."""

    time_ms: int | None
    turns: list[Turn] = field(default_factory=list)


def read_chat_lines(path: Path) -> Iterator[Haystack]:
    """The haystacks of a file, in order of first appearance. Raises BadInput with the line number."""
    found: dict[str, dict[str, _Open]] = {}
    lines: dict[tuple[str, str], int] = {}
    stem = path.name.removesuffix(".gz").rpartition(".")[0]
    with opened(path) as file:
        for number, _, raw in numbered_lines(file):
            where = f"{path}, line {number}"
            row = _row(where, raw)
            scope = row.scope or stem
            session = found.setdefault(scope, {}).get(row.session)
            if session is None:
                session = found[scope][row.session] = _Open(_time(where, row.date))
            elif row.date is not None:
                _time(where, row.date)
            ref = row.turn_id or f"{row.session}:{len(session.turns) + 1}"
            first = lines.setdefault((scope, ref), number)
            if first != number:
                raise BadInput(f"{where}: the turn {ref!r} is there already (line {first}); correct one turn_id.")
            session.turns.append(Turn(row.speaker, row.text, ref, row.role, row.image_caption))
    if not found:
        raise BadInput(f"{path} holds no turn; give one JSON object per turn and line.")
    for scope, sessions in found.items():
        yield Haystack(scope, tuple(Session(ref, one.time_ms, tuple(one.turns)) for ref, one in sessions.items()))


def _row(where: str, raw: bytes) -> ChatRow:
    row = read_row(ChatRow, where, raw, "chat")
    for name in ("session", "speaker"):
        if not getattr(row, name).strip():
            raise BadInput(f"{where}: {name} is empty; `amr schema chat` shows what a line is.")
    if not (row.text.strip() or row.image_caption.strip()):
        raise BadInput(f"{where}: text is empty; leave the line out, or give the words.")
    return row


def _time(where: str, date: str | None) -> int | None:
    if date is None:
        return None
    try:
        return wall_ms(date)
    except ValueError as error:
        raise BadInput(
            f"{where}: date {date!r} is not ISO 8601, such as 2024-05-01T09:30:00Z; correct it, or give null."
        ) from error
