"""Chains: the events of a pass, a person or an object in order of time, and the stretch of one around a moment."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

EVENTS = "event"
"""The role of the chain of all events of a pass; the others are the roles of mentions."""

Rows = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]


@dataclass(frozen=True)
class Span:
    """A stretch of the chain of `role` and `handle` over some passes, from `first_ms` to `last_ms`, both included.

    Times are on the clock of the sources: wall clock where they have one, else media time.
    """

    passes: tuple[int, ...]
    role: str
    handle: str
    first_ms: int
    last_ms: int


@dataclass(frozen=True)
class Track:
    """A pass with what puts it in order beside others of one clock, whatever the ids: `name` is made of content."""

    pass_id: int
    scope_id: str
    state: str
    has_wall_clock: bool
    name: str


@dataclass(frozen=True)
class SeenRow:
    """An event as chains need it. `start_ms` and `end_ms` are on the clock of the sources."""

    node_id: int
    hash: str
    pass_id: int
    clip: int
    start_ms: int
    end_ms: int
    learnt_at: int
    modality: str


@dataclass(frozen=True)
class EdgeRow:
    """An edge as stored; `payload` is canonical JSON."""

    edge_id: int
    channel: str
    src: int
    dst: int
    payload: str
    learnt_at: int
    retired_at: int | None


def track_name(source_key: str, perceiver: str, settings_hash: str, clip_ms: int) -> str:
    """The name of a track, from what a pass is known by."""
    return f"{source_key} {perceiver} {settings_hash} {clip_ms}"


class Chains:
    """Look-ups in the chains of one state of a memory. Standing events only; those of a staged pass included."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def tracks(self, scope: str) -> list[Track]:
        """The passes of a scope that are not replaced; turns of chats are in no chain."""
        query = (
            "SELECT pass_id, scope_id, state, origin_wall_ms IS NOT NULL, key, perceiver, settings_hash, clip_ms"
            " FROM passes JOIN sources USING (source_id) WHERE scope_id = ? AND state <> 'replaced' AND kind <> 'chat'"
            " ORDER BY pass_id"
        )
        rows = self._rows(query, [scope])
        return [Track(row[0], row[1], row[2], row[3], track_name(*row[4:])) for row in rows]

    def around(self, spans: Sequence[Span]) -> list[list[SeenRow]]:
        """Of each span: its events, the last before that was known by its beginning, the first after, all between.

        The events after go on as long as one may have been known before the first of them was.
        """
        found: list[list[int]] = [[] for _ in spans]
        groups: dict[tuple[tuple[int, ...], bool], list[int]] = {}
        for number, span in enumerate(spans):
            groups.setdefault((span.passes, span.role == EVENTS), []).append(number)
        for (passes, of_pass), numbers in groups.items():
            chosen = [spans[number] for number in numbers]
            columns: list[Any] = [numbers, *([getattr(span, name) for span in chosen] for name in _SPAN_COLUMNS)]
            for number, node_id in self._rows(_AROUND_PASS if of_pass else _AROUND, [*columns, list(passes)]):
                found[number].append(node_id)
        rows = {row.node_id: row for row in self._seen(sorted({node_id for ids in found for node_id in ids}))}
        return [[rows[node_id] for node_id in ids] for ids in found]

    def _seen(self, ids: list[int]) -> list[SeenRow]:
        if not ids:
            return []
        query = (
            "SELECT node_id, hash, pass_id, coalesce(clip_first, 0), coalesce(time_ms, t_start_ms),"
            " coalesce(time_ms, t_start_ms) + t_end_ms - t_start_ms, learnt_at, payload->>'$.modality'"
            " FROM nodes WHERE node_id IN (SELECT unnest(?::BIGINT[]))"
        )
        return [SeenRow(*row) for row in self._rows(query, [ids])]

    def mentions(self, ids: Collection[int]) -> dict[int, list[tuple[str, str]]]:
        """The (role, handle) pairs of each of some nodes."""
        query = "SELECT node_id, role, handle FROM mentions WHERE node_id IN (SELECT unnest(?::BIGINT[])) ORDER BY ALL"
        found: dict[int, list[tuple[str, str]]] = {node_id: [] for node_id in ids}
        for node_id, role, handle in self._rows(query, [sorted(ids)]):
            found[node_id].append((role, handle))
        return found

    def edges_into(self, ids: Collection[int], channels: Sequence[str], since: int) -> list[EdgeRow]:
        """The edges of some channels to these nodes that stand, or stood after `since`."""
        query = (
            "SELECT edge_id, channel, src, dst, payload, learnt_at, retired_at FROM edges"
            " WHERE dst IN (SELECT unnest(?::BIGINT[])) AND list_contains(?, channel) AND withdrawn_commit IS NULL"
            " AND (retired_at IS NULL OR (retired_at > learnt_at AND retired_at > ?)) ORDER BY edge_id"
        )
        return [EdgeRow(*row) for row in self._rows(query, [sorted(ids), list(channels), since])]

    def events_of(self, passes: Sequence[int]) -> list[int]:
        """The ids of the standing events of some passes."""
        query = (
            "SELECT node_id FROM nodes WHERE list_contains(?, pass_id) AND kind = 'event' AND retired_at IS NULL"
            " AND withdrawn_commit IS NULL ORDER BY node_id"
        )
        return [row[0] for row in self._rows(query, [list(passes)])]


_SPAN_COLUMNS = ("role", "handle", "first_ms", "last_ms")

_AROUND = """
WITH spans AS (
    SELECT unnest(?::BIGINT[]) AS span, unnest(?::VARCHAR[]) AS role, unnest(?::VARCHAR[]) AS handle,
        unnest(?::BIGINT[]) AS first_ms, unnest(?::BIGINT[]) AS last_ms),
chain AS (
    SELECT span, first_ms, last_ms, n.node_id, coalesce(n.time_ms, n.t_start_ms) AS start_ms, n.learnt_at
    FROM spans JOIN mentions m USING (role, handle) JOIN nodes n USING (node_id)
    WHERE list_contains(?::BIGINT[], n.pass_id) AND n.retired_at IS NULL AND n.withdrawn_commit IS NULL),
near AS (
    SELECT span, max(start_ms) FILTER (start_ms < first_ms AND learnt_at <= first_ms) AS base,
        min(start_ms) FILTER (start_ms > last_ms) AS after
    FROM chain GROUP BY span),
following AS (
    SELECT span, max(learnt_at) AS until FROM chain JOIN near USING (span) WHERE start_ms = after GROUP BY span)
SELECT span, node_id FROM chain JOIN near USING (span) LEFT JOIN following USING (span)
WHERE (base IS NULL OR start_ms >= base) AND (start_ms <= last_ms OR start_ms = after OR start_ms < until)
ORDER BY span, node_id
"""
_AROUND_PASS = _AROUND.replace(
    "FROM spans JOIN mentions m USING (role, handle) JOIN nodes n USING (node_id)", "FROM spans CROSS JOIN nodes n"
).replace("list_contains(?::BIGINT[], n.pass_id)", "list_contains(?::BIGINT[], n.pass_id) AND n.kind = 'event'")
