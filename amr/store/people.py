"""Who is who: the names that a handle is known by, and the pairs of handles that a person has settled.

Handles that are the same person form a class. It is looked up when a question is put, so that what is written does not
depend on the order in which things are learnt.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from amr.store.rows import View

ALIAS = "alias"
"""The role of the mentions of an entity: its handle, and each name that it is known by."""

SAME_AS = "same_as"

Rows = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]
Pair = tuple[str, str]


@dataclass(frozen=True)
class Settled:
    """What a person decided about two handles, in alphabetical order, and the edge that says so."""

    edge_id: int
    handles: Pair
    same: bool
    learnt_at: int


class People:
    """Look-ups of persons in one state of a memory. `visibility` gives the condition of what a view sees."""

    def __init__(self, rows: Rows, visibility: Callable[[View], tuple[str, list[Any]]]) -> None:
        self._rows = rows
        self._visibility = visibility

    def aliases(self, view: View) -> list[Pair]:
        """(handle, other name) of the persons of a scope, in order."""
        condition, values = self._visibility(view)
        query = f"SELECT DISTINCT node_id, handle FROM mentions WHERE scope_id = ? AND role = ? AND {condition}"
        names: dict[int, set[str]] = {}
        for node_id, name in self._rows(query, [view.scope, ALIAS, *values]):
            names.setdefault(node_id, set()).add(name)
        own = self._entities(names)
        return sorted({(own[node], name) for node, known in names.items() for name in known if name != own[node]})

    def _entities(self, ids: Collection[int]) -> dict[int, str]:
        """The handles of some entities."""
        query = "SELECT node_id, payload FROM nodes WHERE node_id IN (SELECT unnest(?::BIGINT[]))"
        rows = self._rows(query, [sorted(ids)]) if ids else []
        return {node_id: json.loads(payload)["handle"] for node_id, payload in rows}

    def settled(self, view: View) -> list[Settled]:
        """What was decided about pairs of handles. A decision is no event of a film: it holds at every as-of."""
        condition, values = self._visibility(replace(view, as_of=None))
        query = (
            "SELECT edge_id, src, dst, payload, learnt_at FROM edges"
            f" WHERE scope_id = ? AND channel = ? AND {condition} ORDER BY edge_id"
        )
        rows = self._rows(query, [view.scope, SAME_AS, *values])
        own = self._entities({end for row in rows for end in row[1:3]})
        return [Settled(row[0], (own[row[1]], own[row[2]]), json.loads(row[3])["same"], row[4]) for row in rows]

    def classes(self, view: View) -> Classes:
        """Which handles are one person, as far as the view sees."""
        settled = self.settled(view)
        same = [pair.handles for pair in settled if pair.same]
        return Classes([*same, *self.aliases(view)], {pair.handles for pair in settled if not pair.same})

    def first_seen(self, scope: str) -> dict[str, int]:
        """Every person's handle of a scope with the time when it was first learnt."""
        query = (
            "SELECT handle, min(learnt_at) FROM mentions WHERE scope_id = ? AND role = 'person'"
            " AND commit_id IS NOT NULL AND withdrawn_commit IS NULL GROUP BY handle ORDER BY handle"
        )
        return dict(self._rows(query, [scope]))

    def persons(self, view: View) -> list[str]:
        """The handles of all persons in what a view sees."""
        condition, values = self._visibility(view)
        query = (
            f"SELECT DISTINCT handle FROM mentions WHERE scope_id = ? AND role = 'person' AND {condition} ORDER BY 1"
        )
        return [row[0] for row in self._rows(query, [view.scope, *values])]

    def clips_of(self, view: View, handles: Collection[str]) -> dict[str, set[tuple[int, int]]]:
        """In which (pass, clip) each of these persons was perceived; events that were merged since included."""
        at = "" if view.as_of is None else " AND m.learnt_at <= ?"
        query = (
            "SELECT DISTINCT m.handle, n.pass_id, n.clip_first FROM mentions m JOIN nodes n USING (node_id)"
            " WHERE m.scope_id = ? AND m.role = 'person' AND m.handle IN (SELECT unnest(?::VARCHAR[]))"
            f" AND n.clip_first = n.clip_last AND m.commit_id IS NOT NULL AND m.withdrawn_commit IS NULL{at}"
        )
        found: dict[str, set[tuple[int, int]]] = {handle: set() for handle in handles}
        moments = [] if view.as_of is None else [view.as_of]
        for handle, pass_id, clip in self._rows(query, [view.scope, sorted(handles), *moments]):
            found[handle].add((pass_id, clip))
        return found

    def entity(self, scope: str, handle: str) -> tuple[int, str] | None:
        """The id and the hash of the entity to which decisions about a handle are tied."""
        query = (
            "SELECT node_id, hash, payload FROM nodes WHERE scope_id = ? AND kind = 'entity' AND source_id IS NULL"
            " AND withdrawn_commit IS NULL"
        )
        found = [(row[0], row[1]) for row in self._rows(query, [scope]) if json.loads(row[2])["handle"] == handle]
        return found[0] if found else None

    def known_in(self, pass_id: int) -> dict[str, tuple[int, dict[str, int]]]:
        """The entities of a pass by handle: the node's id, and its names with the time each was first learnt."""
        query = (
            "SELECT n.payload, node_id, m.handle, min(m.learnt_at) FROM nodes n JOIN mentions m USING (node_id)"
            " WHERE n.pass_id = ? AND n.kind = 'entity' AND n.withdrawn_commit IS NULL GROUP BY ALL"
        )
        known: dict[str, tuple[int, dict[str, int]]] = {}
        for payload, node_id, name, learnt_at in self._rows(query, [pass_id]):
            known.setdefault(json.loads(payload)["handle"], (node_id, {}))[1][name] = learnt_at
        return known


class Classes:
    """Handles joined by pairs that are the same person, given in order; no join brings two together that differ."""

    def __init__(self, same: Iterable[Pair], different: Collection[Pair]) -> None:
        self._class: dict[str, frozenset[str]] = {}
        for a, b in same:
            joined = self.of(a) | self.of(b)
            if not any(x in joined and y in joined for x, y in different):
                self._class.update(dict.fromkeys(joined, joined))

    def of(self, handle: str) -> frozenset[str]:
        """All handles of the person that a handle names, itself included."""
        return self._class.get(handle, frozenset((handle,)))

    def all_of(self, handles: Iterable[str]) -> list[str]:
        """The handles of all these persons, each once."""
        return list(dict.fromkeys(name for handle in handles for name in (handle, *sorted(self.of(handle)))))
