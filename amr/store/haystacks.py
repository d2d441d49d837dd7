"""What a memory holds of chats: their sources, sessions and the edges between sessions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from amr.records import Node
from amr.store.rows import SourceRow

Rows = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]


@dataclass
class StoredSession:
    """A session as those beside it need it. `start_ms` is on its source's clock, `clip` its order of arrival."""

    node_id: int
    hash: str
    clip: int
    start_ms: int
    learnt_at: int

    @property
    def place(self) -> tuple[int, int]:
        """Where it stands among the sessions of its source."""
        return self.start_ms, self.clip


@dataclass
class StoredHaystack:
    """A source of the kind `chat` as it is stored; `uris` are those of its clips in order of arrival.

    `next_edges` are the ids of the edges from a session to the next one, by the ids of both.
    """

    row: SourceRow
    pass_id: int
    node_id: int
    node_hash: str
    uris: list[str] = field(default_factory=list)
    last_start_ms: int = 0
    sessions: list[StoredSession] = field(default_factory=list)
    next_edges: dict[tuple[int, int], int] = field(default_factory=dict)


@dataclass(frozen=True)
class ToldSession:
    """A stored session with its turns, in the order in which they were said."""

    node: Node
    source_key: str
    turns: list[Node]


class Haystacks:
    """Look-ups in one state of a memory; `nodes` gives those of some ids."""

    def __init__(self, rows: Rows, nodes: Callable[[Sequence[int]], dict[int, Node]]) -> None:
        self._rows = rows
        self._nodes = nodes

    def scopes(self, names: Sequence[str]) -> dict[str, int]:
        """The ids of the nodes of those of these scopes that are there."""
        query = "SELECT scope_id, node_id FROM nodes WHERE kind = 'scope' AND list_contains(?::VARCHAR[], scope_id)"
        return dict(self._rows(query, [list(names)]))

    def meta(self, keys: Sequence[str]) -> dict[str, str]:
        """Those of these settings of the memory that are there."""
        return dict(self._rows("SELECT key, value FROM meta WHERE list_contains(?::VARCHAR[], key)", [list(keys)]))

    def stored(self, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], StoredHaystack]:
        """Those of the chats with these (scope, key) that are there."""
        query = (
            "SELECT s.*, p.pass_id FROM sources s JOIN passes p USING (source_id)"
            " WHERE list_contains(?::VARCHAR[], s.key) AND s.kind = 'chat' AND p.state = 'live'"
        )
        wanted = set(keys)
        found = [(SourceRow(*row[:-1]), row[-1]) for row in self._rows(query, [sorted({key for _, key in keys})])]
        passes = {row.source_id: pass_id for row, pass_id in found}
        rows = [row for row, _ in found if (row.scope_id, row.key) in wanted]
        if not rows:
            return {}
        known = self._with_nodes({row.source_id: row for row in rows}, passes)
        self._add_clips(known)
        self._add_edges(known)
        return {(one.row.scope_id, one.row.key): one for one in known.values()}

    def _with_nodes(self, rows: dict[int, SourceRow], passes: dict[int, int]) -> dict[int, StoredHaystack]:
        query = (
            "SELECT source_id, kind, node_id, hash, clip_first, t_start_ms, learnt_at FROM nodes"
            " WHERE list_contains(?::BIGINT[], source_id) AND kind IN ('source', 'session')"
            " AND withdrawn_commit IS NULL AND retired_at IS NULL ORDER BY node_id"
        )
        known: dict[int, StoredHaystack] = {}
        for source_id, kind, node_id, digest, clip, start_ms, learnt_at in self._rows(query, [sorted(rows)]):
            if kind == "source":
                known[source_id] = StoredHaystack(rows[source_id], passes[source_id], node_id, digest)
            else:
                known[source_id].sessions.append(StoredSession(node_id, digest, clip, start_ms, learnt_at))
        return known

    def _add_clips(self, known: dict[int, StoredHaystack]) -> None:
        query = (
            "SELECT source_id, uri, t_start_ms FROM clips WHERE list_contains(?::BIGINT[], source_id)"
            " ORDER BY source_id, clip_index"
        )
        for source_id, uri, start_ms in self._rows(query, [sorted(known)]):
            known[source_id].uris.append(uri)
            known[source_id].last_start_ms = start_ms

    def _add_edges(self, known: dict[int, StoredHaystack]) -> None:
        of = {session.node_id: one for one in known.values() for session in one.sessions}
        query = (
            "SELECT edge_id, src, dst FROM edges WHERE channel = 'temporal' AND retired_at IS NULL"
            " AND withdrawn_commit IS NULL AND src IN (SELECT unnest(?::BIGINT[])) ORDER BY edge_id"
        )
        for edge_id, src, dst in self._rows(query, [sorted(of)]):
            of[src].next_edges[src, dst] = edge_id

    def without_observation(self, source_ids: Sequence[int]) -> list[tuple[int, int]]:
        """The (source, clip) of the sessions of some chats of which nothing was observed, in that order."""
        query = (
            "SELECT c.source_id, c.clip_index FROM clips c JOIN passes p USING (source_id, pass_id)"
            " LEFT JOIN observations o USING (source_id, pass_id, clip_index)"
            " WHERE list_contains(?::BIGINT[], c.source_id) AND p.state = 'live' AND o.source_id IS NULL ORDER BY ALL"
        )
        return [(row[0], row[1]) for row in self._rows(query, [list(source_ids)])]

    def told(self, wanted: Sequence[tuple[int, int]]) -> list[ToldSession]:
        """The sessions of these (source, clip), in that order, with their turns."""
        query = (
            "WITH wanted AS (SELECT unnest(?::BIGINT[]) AS source_id, unnest(?::BIGINT[]) AS clip_first)"
            " SELECT source_id, clip_first, nodes.kind, node_id, key FROM nodes"
            " JOIN wanted USING (source_id, clip_first) JOIN sources USING (source_id)"
            " WHERE nodes.kind IN ('session', 'turn') AND withdrawn_commit IS NULL"
            " AND retired_at IS NULL ORDER BY node_id"
        )
        rows = self._rows(query, [[source for source, _ in wanted], [clip for _, clip in wanted]])
        nodes = self._nodes([row[3] for row in rows])
        heads = {row[:2]: (nodes[row[3]], row[4]) for row in rows if row[2] == "session"}
        turns: dict[tuple[int, int], list[Node]] = {place: [] for place in heads}
        for source_id, clip, kind, node_id, _ in rows:
            if kind == "turn":
                turns[source_id, clip].append(nodes[node_id])
        return [ToldSession(*heads[place], turns[place]) for place in wanted]
