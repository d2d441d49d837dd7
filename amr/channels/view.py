"""What linking knows of the memory: the end of every chain, committed or pending, and what is stored around a moment.

An event that comes last in its chains costs a look-up in memory; the ends of chains that are not there yet are read
together, once for a commit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from amr.channels.chain import Chain, Seen, Steps, Tail, steps
from amr.channels.versions import Placed
from amr.records import Mention, Node
from amr.store import database
from amr.store.chains import EVENTS, SeenRow, Span, Track, track_name
from amr.store.rows import PassRow, SourceRow
from amr.store.snapshot import Snapshot

Stretch = tuple[Chain, int, int]
"""Of a chain, from one time to another, both included."""


class View:
    """The chains of one memory, while one command writes to it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._tails: dict[Chain, Tail] = {}
        self._tracks: dict[int, Track] = {}
        self._stored: set[int] = set()
        self._scopes: set[str] = set()
        self._sharing: dict[str, tuple[int, ...]] = {}

    def reading(self) -> AbstractContextManager[Snapshot]:
        """The memory as committed."""
        return database.reading(self._directory)

    def note(self, sources: Sequence[SourceRow], passes: Sequence[PassRow]) -> None:
        """Takes note of passes that are about to be written, or change; `sources` are those of them that are new."""
        if not passes:
            return
        known = {source.source_id: source for source in sources}
        if any(row.source_id not in known for row in passes):
            with self.reading() as snapshot:
                known = {**{source.source_id: source for source in snapshot.sources()}, **known}
        for row in passes:
            source = known[row.source_id]
            self._load(source.scope_id)
            name = track_name(source.key, row.perceiver, row.settings_hash, row.clip_ms)
            has_clock = source.origin_wall_ms is not None
            self._tracks[row.pass_id] = Track(row.pass_id, source.scope_id, row.state, has_clock, name)
        self._sharing.clear()

    def place(self, nodes: Sequence[Node], mentions: Iterable[Mention]) -> list[Placed]:
        """The events with their chains, in order of time."""
        named: dict[int, list[tuple[str, str]]] = {node.node_id: [] for node in nodes}
        for mention in mentions:
            if mention.node_id in named:
                named[mention.node_id].append((mention.role, mention.handle))
        return self._in_order(nodes, named)

    def place_stored(self, ids: Collection[int]) -> list[Placed]:
        """Stored events with their chains, in order of time."""
        with self.reading() as snapshot:
            nodes = list(snapshot.nodes(sorted(ids)).values())
            named = snapshot.chains.mentions(ids)
        return self._in_order(nodes, named)

    def _in_order(self, nodes: Sequence[Node], named: dict[int, list[tuple[str, str]]]) -> list[Placed]:
        placed = [self._placed(node, named[node.node_id]) for node in nodes]
        return sorted(placed, key=lambda one: one.seen.place)

    def _placed(self, node: Node, named: list[tuple[str, str]]) -> Placed:
        if node.pass_id is None:
            raise ValueError("an event belongs to a pass over a source")
        clock = self._clock(node)
        chains = (Chain(node.pass_id, EVENTS, ""), *(Chain(clock, role, handle) for role, handle in named))
        return Placed(node, self._seen(node), chains)

    def _clock(self, node: Node) -> str | int:
        """Sources with wall clock share one time; a pass that is not to be seen yet stands alone."""
        assert node.pass_id is not None
        self._load(node.scope_id)
        live = self._tracks[node.pass_id].state == "live"
        return node.scope_id if live and node.time_ms is not None else node.pass_id

    def _seen(self, node: Node) -> Seen:
        assert node.pass_id is not None
        start = node.moment_ms
        end = start + (node.t_end_ms or 0) - (node.t_start_ms or 0)
        place = (start, self._tracks[node.pass_id].name, node.clip_first or 0, node.node_id)
        return Seen(node.node_id, node.hash, place, end, node.learnt_at, node.payload["modality"], node.retired_at)

    def _load(self, scope: str) -> None:
        """Reads which passes of a scope are stored, once."""
        if scope in self._scopes:
            return
        with self.reading() as snapshot:
            self.know(scope, snapshot.chains.tracks(scope))

    def know(self, scope: str, tracks: Iterable[Track]) -> None:
        """Takes note of the passes of a scope that are stored, for one who has read them already."""
        self._scopes.add(scope)
        stored = {track.pass_id: track for track in tracks}
        self._stored |= stored.keys()
        self._tracks = {**stored, **self._tracks}
        self._sharing.clear()

    def append(self, placed: Sequence[Placed]) -> list[dict[Chain, Steps]] | None:
        """What came before each of some events, in order of time, which become the ends of their chains.

        None, and nothing has happened, when one of them does not come last.
        """
        first = {chain: one for one in reversed(placed) for chain in one.chains}
        if not self._know(first):
            return None
        for chain, one in first.items():
            known = self._tails[chain].events
            if known and known[-1].place > one.seen.place:
                return None
        return [self._pushed(one) for one in placed]

    def _pushed(self, one: Placed) -> dict[Chain, Steps]:
        before = {}
        for chain in one.chains:
            tail = self._tails[chain]
            before[chain] = steps(tail.events, len(tail.events), one.seen.learnt_at)
            tail.push(one.seen)
        return before

    def _know(self, first: dict[Chain, Placed]) -> bool:
        """Reads the ends of the chains that are not known yet; False when one of them goes on after its event."""
        unknown = [chain for chain in first if chain not in self._tails]
        asked = [chain for chain in unknown if self._stored.intersection(self._passes(chain))]
        moments = [first[chain].seen.start_ms for chain in asked]
        stored = self.around([(chain, at, at) for chain, at in zip(asked, moments, strict=True)]) if asked else []
        found = dict(zip(asked, stored, strict=True))
        if any(events and events[-1].place > first[chain].seen.place for chain, events in found.items()):
            return False
        for chain in unknown:
            self._tails[chain] = Tail()
            for seen in found.get(chain, ()):
                self._tails[chain].push(seen)
        return True

    def forget(self, chains: Iterable[Chain]) -> None:
        """Lets go of the ends of some chains, to which something else happened."""
        for chain in chains:
            self._tails.pop(chain, None)
            self._stored.update(self._passes(chain))

    def around(self, stretches: Sequence[Stretch]) -> list[list[Seen]]:
        """Of each stretch its stored events, in order of time, with those before and after it that may matter."""
        spans = [Span(self._passes(chain), chain.role, chain.handle, first, last) for chain, first, last in stretches]
        with self.reading() as snapshot:
            rows = snapshot.chains.around(spans)
        return [sorted((self._of_row(row) for row in found), key=lambda seen: seen.place) for found in rows]

    def _of_row(self, row: SeenRow) -> Seen:
        place = (row.start_ms, self._tracks[row.pass_id].name, row.clip, row.node_id)
        return Seen(row.node_id, row.hash, place, row.end_ms, row.learnt_at, row.modality)

    def is_alone(self, pass_id: int) -> bool:
        """Whether no other pass that is to be seen shares the clock of this one."""
        track = self._tracks[pass_id]
        return not track.has_wall_clock or self._passes(Chain(track.scope_id, EVENTS, "")) == (pass_id,)

    def _passes(self, chain: Chain) -> tuple[int, ...]:
        """The passes whose events are on the clock of a chain."""
        clock = chain.clock
        if isinstance(clock, int):
            return (clock,)
        if clock not in self._sharing:
            mine = [track for track in self._tracks.values() if track.scope_id == clock and track.has_wall_clock]
            self._sharing[clock] = tuple(track.pass_id for track in mine if track.state == "live")
        return self._sharing[clock]
