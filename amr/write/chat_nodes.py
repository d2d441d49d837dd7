"""A session of a chat → its nodes, edges and mentions: turns in exchanges in a session, each turn before the next."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache

from blake3 import blake3

from amr.channels.temporal import NAME as TEMPORAL
from amr.language.names import handle
from amr.media.chats import Session, Turn
from amr.records import ASSISTANT, WEARER, NodeKind
from amr.store.hashing import canonical_json, canonical_text, ready_hash
from amr.store.rows import ReadyEdge, ReadyMention, ReadyNode, ReadyRows

PART_OF = "part_of"
_NO_NAMES = frozenset(("user", "human", ASSISTANT, "ai", "bot", "system", "someone"))
"""What stands for a speaker whose name is not known."""
_WORD = re.compile(r"[^\W_]+")
_LEVEL_SESSION, _LEVEL_EXCHANGE, _LEVEL_TURN = (f'{{"level":"{level}"}}' for level in ("session", "exchange", "turn"))
_AT_ONCE = '{"gap_ms":0}'


@dataclass(frozen=True)
class SessionPlace:
    """Where a session belongs. `start_ms` is on its source's clock; `wall_ms` None where no clock is known.

    `wearer` are the handles under which the owner of the memory speaks.
    """

    scope_id: str
    source_id: int
    source_key: str
    pass_id: int
    source_node: int
    source_hash: str
    clip: int
    start_ms: int
    wall_ms: int | None
    wearer: frozenset[str] = frozenset()

    @property
    def learnt_at(self) -> int:
        """When the memory may know what was said: at once."""
        return self.start_ms if self.wall_ms is None else self.wall_ms


@dataclass
class SessionRows:
    """All that one session adds to the memory, but for its edge from the session before it."""

    session: ReadyNode
    turns: list[int]
    """The ids of the nodes of its turns."""
    rows: ReadyRows


def content_hash(session: Session) -> str:
    """Stands for a session: its time and every word in it."""
    said = [[turn.speaker, turn.text, turn.ref, turn.role, turn.image_caption] for turn in session.turns]
    return blake3(canonical_json([session.time_ms, said]).encode()).hexdigest()


def session_rows(session: Session, place: SessionPlace, new_id: Callable[[str], int]) -> SessionRows:
    """The rows of a session, which depend on nothing but the session and its place."""
    make = _Maker(place, new_id)
    speakers = [speaker_handle(turn.speaker, turn.role, place.wearer) for turn in session.turns]
    named = _names(session.turns, speakers)
    undated = ',"undated":true' if session.time_ms is None else ""
    persons = _list_json(tuple(dict.fromkeys(speakers)))
    head = make.node(
        "session",
        place.source_node,
        session_date(session.time_ms),
        f'{{"persons":{persons},"ref":{canonical_text(session.ref)}{undated}}}',
    )
    make.edge(PART_OF, place.source_node, place.source_hash, head, _LEVEL_SESSION)
    turns: list[int] = []
    previous: ReadyNode | None = None
    for exchange in exchanges(session.turns):
        about = f'{{"level":"exchange","n":{exchange.start},"session":"{head.hash}"}}'
        window = make.node("window", head.node_id, "", about)
        make.edge(PART_OF, head.node_id, head.hash, window, _LEVEL_EXCHANGE)
        for number in exchange:
            turn, speaker = session.turns[number], speakers[number]
            present = (speaker, *_named_in(turn, named, speaker)) if named else (speaker,)
            node = make.node("turn", window.node_id, turn.line, _payload(turn, number, speaker, present, undated))
            make.edge(PART_OF, window.node_id, window.hash, node, _LEVEL_TURN)
            make.mentions(node, _handles(turn.speaker, turn.role, present))
            if previous is not None:
                make.edge(TEMPORAL, previous.node_id, previous.hash, node, _AT_ONCE)
            turns.append(node.node_id)
            previous = node
    return SessionRows(head, turns, make.rows)


def exchanges(turns: Sequence[Turn]) -> list[range]:
    """The places of the turns of each exchange: a user's turn with what answers it; between peers, two by two."""
    count = len(turns)
    if not any(turn.role == "user" for turn in turns):
        return [range(first, min(first + 2, count)) for first in range(0, count, 2)]
    starts = [0, *(at for at, turn in enumerate(turns) if turn.role == "user" and at)]
    return [range(a, b) for a, b in zip(starts, [*starts[1:], count], strict=True)]


class _Maker:
    """Makes the rows of one session as they are stored."""

    def __init__(self, place: SessionPlace, new_id: Callable[[str], int]) -> None:
        self._place, self._new_id = place, new_id
        self._known = (canonical_text(place.scope_id), canonical_text(place.source_key), str(place.start_ms))
        self.rows = ReadyRows()

    def node(self, kind: NodeKind, parent_id: int, text: str, payload: str) -> ReadyNode:
        """A node; `payload` is canonical JSON."""
        place, (scope, key, start) = self._place, self._known
        row = ReadyNode(
            self._new_id("nodes"),
            kind,
            place.scope_id,
            place.source_id,
            place.pass_id,
            parent_id,
            place.clip,
            place.clip,
            place.start_ms,
            place.start_ms,
            place.wall_ms,
            text,
            payload,
            ready_hash(f'"{kind}"', scope, key, start, start, canonical_text(text), payload),
            place.learnt_at,
        )
        self.rows.nodes.append(row)
        return row

    def edge(self, channel: str, src: int, src_hash: str, dst: ReadyNode, payload: str) -> None:
        """An edge to a node of the session; `payload` is canonical JSON."""
        digest = ready_hash(f'"{channel}"', f'"{src_hash}"', f'"{dst.hash}"', payload)
        scope, edge_id = self._place.scope_id, self._new_id("edges")
        row = ReadyEdge(edge_id, scope, channel, src, dst.node_id, payload, digest, self._place.learnt_at)
        self.rows.edges.append(row)

    def mentions(self, node: ReadyNode, persons: Sequence[str]) -> None:
        """A node names persons."""
        place = self._place
        self.rows.mentions += [
            ReadyMention(node.node_id, place.scope_id, person, "person", place.start_ms, place.learnt_at)
            for person in persons
        ]


def session_date(time_ms: int | None) -> str:
    """The head of a session, "2023-05-08 13:56"."""
    return "" if time_ms is None else datetime.fromtimestamp(time_ms / 1000, timezone.utc).strftime("%Y-%m-%d %H:%M")


@lru_cache(maxsize=4096)
def speaker_handle(name: str, role: str | None, wearer: frozenset[str]) -> str:
    """The handle of a speaker; `wearer` are the handles under which the owner of the memory speaks."""
    if role == "user":
        return WEARER
    if role == ASSISTANT:
        return ASSISTANT
    known_as = handle(name)
    return WEARER if known_as in wearer else known_as or "someone"


def _names(turns: Sequence[Turn], speakers: Sequence[str]) -> dict[str, str]:
    """The handles of the speakers of a session by the first word, in lower case, of the name of each."""
    named = {}
    for name, speaker in {turn.speaker: speaker for turn, speaker in zip(turns, speakers, strict=True)}.items():
        words = _WORD.findall(name.lower())
        if words and words[0] not in _NO_NAMES:
            named[words[0]] = speaker
    return named


def _named_in(turn: Turn, named: dict[str, str], speaker: str) -> list[str]:
    said = set(_WORD.findall(turn.text.lower()))
    return [person for name, person in named.items() if person != speaker and name in said]


@lru_cache(maxsize=4096)
def _handles(name: str, role: str | None, persons: tuple[str, ...]) -> tuple[str, ...]:
    """What a turn is found under: its persons, and the owner's own name where that is told."""
    own = handle(name) if role in ("user", ASSISTANT) else ""
    return (*persons, own) if own and own not in (*persons, *_NO_NAMES) else persons


@lru_cache(maxsize=4096)
def _list_json(names: tuple[str, ...]) -> str:
    return canonical_json(names)


def _payload(turn: Turn, number: int, speaker: str, persons: tuple[str, ...], undated: str) -> str:
    """What is kept of a turn beside its words, as canonical JSON."""
    caption = f'"caption":{canonical_text(turn.image_caption)},' if turn.image_caption else ""
    role = "" if turn.role is None else f',"role":{canonical_text(turn.role)}'
    return (
        f'{{{caption}"n":{number},"persons":{_list_json(persons)},"ref":{canonical_text(turn.ref)}{role}'
        f',"speaker":{canonical_text(speaker)}{undated}}}'
    )
