"""Rows of the tables as values: what a command writes, and what it reads back that is not a node or an edge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from amr.records import CallRow, Edge, Mention, Node


@dataclass
class SourceRow:
    """A source of a scope. Times in milliseconds; `origin_wall_ms` is the wall clock of its start, if known."""

    source_id: int
    scope_id: str
    key: str
    kind: str
    name: str
    uri: str
    origin_wall_ms: int | None
    duration_ms: int | None
    complete: bool


@dataclass
class PassRow:
    """One way of perceiving a source. State: `live`, `staged` or `rebuilding` (until finished), or `replaced`."""

    pass_id: int
    source_id: int
    perceiver: str
    settings_hash: str
    clip_ms: int
    state: str


@dataclass
class ClipRow:
    """What became of a clip. State: `done` or `failed`, with the sentence that says why."""

    source_id: int
    pass_id: int
    clip_index: int
    t_start_ms: int
    t_end_ms: int
    uri: str
    state: str
    error: str | None = None


@dataclass
class ObservationRow:
    """A clip's analysis, kept verbatim as JSON, so that nodes can be derived from it again.

    Of a clip that failed there is no analysis, but `raw`, what a model replied.
    """

    source_id: int
    clip_index: int
    pass_id: int
    analysis: str | None
    raw: str | None
    prompt_hash: str | None
    model: str
    cost_usd: float


class ReadyNode(NamedTuple):
    """A node as it is stored: `payload` is canonical JSON. Nothing is known of its end."""

    node_id: int
    kind: str
    scope_id: str
    source_id: int
    pass_id: int
    parent_id: int
    clip_first: int
    clip_last: int
    t_start_ms: int
    t_end_ms: int
    time_ms: int | None
    text: str
    payload: str
    hash: str
    learnt_at: int


class ReadyEdge(NamedTuple):
    """An edge as it is stored: `payload` is canonical JSON."""

    edge_id: int
    scope_id: str
    channel: str
    src: int
    dst: int
    payload: str
    hash: str
    learnt_at: int


class ReadyMention(NamedTuple):
    """A mention as it is stored."""

    node_id: int
    scope_id: str
    handle: str
    role: str
    t_start_ms: int
    learnt_at: int


@dataclass
class ReadyRows:
    """Rows that are made as they are stored, by one who writes many thousands a second."""

    nodes: list[ReadyNode] = field(default_factory=list)
    edges: list[ReadyEdge] = field(default_factory=list)
    mentions: list[ReadyMention] = field(default_factory=list)

    def take(self, other: ReadyRows) -> None:
        """Adds the rows of another."""
        self.nodes += other.nodes
        self.edges += other.edges
        self.mentions += other.mentions


@dataclass
class Batch:
    """One or more whole clips, written in one transaction.

    `retired_nodes` and `retired_edges` are (id, learnt time); a retired node's mentions and edges go with it.
    `retried` are the (pass, clip index) of clips that had failed before. A source and a pass are written with
    their first clip, so a source without one leaves no trace. `grown` are sources that are there, whose rows change;
    `meta` are settings of the memory's own.
    """

    sources: list[SourceRow] = field(default_factory=list)
    passes: list[PassRow] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    mentions: list[Mention] = field(default_factory=list)
    vectors: list[tuple[int, str, NDArray[np.float32]]] = field(default_factory=list)
    clips: list[ClipRow] = field(default_factory=list)
    observations: list[ObservationRow] = field(default_factory=list)
    retired_nodes: list[tuple[int, int]] = field(default_factory=list)
    retired_edges: list[tuple[int, int]] = field(default_factory=list)
    retried: list[tuple[int, int]] = field(default_factory=list)
    calls: list[CallRow] = field(default_factory=list)
    grown: list[SourceRow] = field(default_factory=list)
    meta: dict[str, str] = field(default_factory=dict)
    ready: ReadyRows = field(default_factory=ReadyRows)

    def rows(self) -> int:
        """How many rows the batch holds."""
        return (
            len(self.nodes)
            + len(self.edges)
            + len(self.mentions)
            + len(self.vectors)
            + len(self.clips)
            + len(self.observations)
            + len(self.ready.nodes)
            + len(self.ready.edges)
            + len(self.ready.mentions)
        )


@dataclass(frozen=True)
class CallSum:
    """The calls of one role to one model: how many were sent, how many were answered from disk, what they used."""

    role: str
    model: str
    calls: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float


@dataclass(frozen=True)
class Neighbour:
    """An edge as a walk sees it: its id, its channel and its two ends."""

    edge_id: int
    channel: str
    src: int
    dst: int


@dataclass(frozen=True)
class View:
    """Which rows a question may see.

    `as_of`, `from_ms` and `to_ms` are on the clock of the sources: wall clock where they have one, else media
    time, in milliseconds. `known_at` is the last commit that may be seen. `without` names channels that are
    switched off for this question. `asked_at` is the moment that "last week" is counted from where that is not
    `as_of`; it hides nothing.
    """

    scope: str = "default"
    source_id: int | None = None
    as_of: int | None = None
    from_ms: int | None = None
    to_ms: int | None = None
    known_at: int | None = None
    kinds: tuple[str, ...] = ("event", "turn", "fact")
    without: frozenset[str] = frozenset()
    asked_at: int | None = None
