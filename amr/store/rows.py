"""Rows of the tables as values: what a command writes, and what it reads back that is not a node or an edge."""

from __future__ import annotations

from dataclasses import dataclass, field

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


@dataclass
class Batch:
    """One or more whole clips, written in one transaction.

    `retired_nodes` and `retired_edges` are (id, learnt time); a retired node's mentions and edges go with it.
    `retried` are the (pass, clip index) of clips that had failed before. A source and a pass are written with
    their first clip, so a source without one leaves no trace.
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

    def rows(self) -> int:
        """How many rows the batch holds."""
        return (
            len(self.nodes)
            + len(self.edges)
            + len(self.mentions)
            + len(self.vectors)
            + len(self.clips)
            + len(self.observations)
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
    switched off for this question.
    """

    scope: str = "default"
    source_id: int | None = None
    as_of: int | None = None
    from_ms: int | None = None
    to_ms: int | None = None
    known_at: int | None = None
    kinds: tuple[str, ...] = ("event", "turn", "fact")
    without: frozenset[str] = frozenset()
