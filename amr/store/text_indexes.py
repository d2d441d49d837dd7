"""The text indexes of a memory, brought along by its one writer: one for each scope, few of them open at a time."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path

from amr.store import database, text
from amr.store.rows import Batch
from amr.store.snapshot import NOT_INDEXED, indexed_text

_MOST_OPEN = 8
"""An open index takes 15 MB."""
_AT_ONCE = 2


@dataclass
class Added:
    """What a batch adds to the text index of a scope, and how many vectors; `last` is its last node's id."""

    rows: list[tuple[int, str]] = field(default_factory=list)
    last: int = -1
    vectors: int = 0
    is_new: bool = False


class TextIndexes:
    """Adds the rows of batches. A new scope's index is made beside its place, many at once, before the commit."""

    def __init__(self, directory: Path, last_nodes: Mapping[str, int]) -> None:
        """`last_nodes` are the ids of the last node of every scope that is there.

        What a kill left out of an index is added now, at the cost of a look at what each says that it holds.
        """
        self._directory = directory
        self._open: OrderedDict[str, text.TextWriter] = OrderedDict()
        self._known = set(last_nodes)
        self._scratch = text.scratch_folder(directory)
        text.clear(directory)
        for scope, last in last_nodes.items():
            held = text.noted_through(self._place(scope))
            if held is None or held < last:
                database.repair_text(directory, scope)

    def add(self, batch: Batch) -> dict[str, Added]:
        """Adds the nodes of a batch, not committed yet; gives what each scope gets."""
        added = added_by(batch, self._known)
        new = [(self._place(scope), one) for scope, one in added.items() if one.is_new]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(lambda pair: text.build(pair[0], pair[1].rows, pair[1].last, self._scratch), new))
        for scope, one in added.items():
            if not one.is_new:
                self._writer(scope).add(one.rows)
        return added

    def commit(self, scope: str, added: Added) -> None:
        """Makes what a batch added to a scope part of its index."""
        if added.is_new:
            text.adopt(self._place(scope))
            self._known.add(scope)
        else:
            self._open[scope].commit(added.last)

    def rest(self, most: int = _MOST_OPEN) -> None:
        """Leaves at most so many indexes open, those that were used last."""
        while len(self._open) > most:
            self._open.popitem(last=False)[1].close()

    def close(self) -> None:
        """Closes all indexes, with all that was made on the way."""
        self.rest(0)
        text.clear(self._directory)

    def _place(self, scope: str) -> Path:
        return text.text_directory(self._directory, scope)

    def _writer(self, scope: str) -> text.TextWriter:
        if scope not in self._open:
            database.repair_text(self._directory, scope)  # its files may be damaged all the same
            self._open[scope] = text.TextWriter(self._place(scope))
        self._open.move_to_end(scope)
        return self._open[scope]


def added_by(batch: Batch, known_scopes: Set[str]) -> dict[str, Added]:
    """What a batch adds to each scope, in order of ids."""
    added: dict[str, Added] = {}
    scope_of: dict[int, str] = {}
    for node in batch.nodes:
        known = added.setdefault(node.scope_id, Added())
        known.last = max(known.last, node.node_id)
        scope_of[node.node_id] = node.scope_id
        if node.kind not in NOT_INDEXED:
            known.rows.append((node.node_id, indexed_text(node.text, node.payload)))
    for row in batch.ready.nodes:
        known = added.setdefault(row.scope_id, Added())
        known.last = max(known.last, row.node_id)
        if row.kind not in NOT_INDEXED:
            known.rows.append((row.node_id, row.text))
            scope_of[row.node_id] = row.scope_id
    counted = Counter(scope_of.get(node_id) for node_id, lane, _ in batch.vectors if lane == "text")
    for scope, one in added.items():
        one.rows.sort(key=_first)
        one.vectors = counted[scope]
        one.is_new = scope not in known_scopes
    return added


_first = itemgetter(0)
