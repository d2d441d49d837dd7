"""Events that come late, and events that go: edges that skipped a new event are retired, edges are made again.

What the edges of a memory are depends on its events alone, not on when they arrived: whatever comes to lie after a
change is asked for its edges again, and what differs from the stored ones is written and retired.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from amr.channels import CHANNELS
from amr.channels.chain import Chain, Seen, Steps, steps
from amr.channels.versions import Placed, Version, versions
from amr.channels.view import View
from amr.store.chains import EdgeRow

_ALWAYS = (-(2**62), 2**62)
_AT_ONCE = 2_000


@dataclass
class Woven:
    """Edges to write, and (edge id, time) of those to retire."""

    edges: list[Version] = field(default_factory=list)
    retired: list[tuple[int, int]] = field(default_factory=list)

    def take(self, other: Woven) -> None:
        """Adds what another asks for."""
        self.edges += other.edges
        self.retired += other.retired


class _Stretch:
    """A part of a chain that holds, of each of its events from `first_ms` on, what came before."""

    def __init__(self, first_ms: int, events: Iterable[Seen]) -> None:
        self.first_ms = first_ms
        self.events = sorted(events, key=lambda seen: seen.place)
        self._index = {seen.node_id: index for index, seen in enumerate(self.events)}

    def before(self, seen: Seen, since: int) -> Steps | None:
        """The latest event before another; None when the stretch does not reach that far."""
        index = self._index.get(seen.node_id)
        return None if index is None or seen.start_ms < self.first_ms else steps(self.events, index, since)


def weave(view: View, new: Sequence[Placed], leaving: Sequence[Placed]) -> Woven:
    """The edges to `new` events, and to stored ones that have, or had, one of `new` or `leaving` events before them.

    `leaving` events are to be retired. Neither are stored as that yet.
    """
    if not new and not leaving:
        return Woven()
    since = min([one.seen.learnt_at for one in new] + [one.seen.until or 0 for one in leaving])
    stretches, touched = _changed(view, new, leaving, since)
    view.forget(stretches)
    return _made(view, new, view.place_stored(touched), stretches, since, frozenset())


def _changed(
    view: View, new: Sequence[Placed], leaving: Sequence[Placed], since: int
) -> tuple[dict[Chain, _Stretch], set[int]]:
    """The chains of some events around these, and the stored events that have another before them than they had."""
    mine: dict[Chain, list[Seen]] = {}
    for one in (*new, *leaving):
        for chain in one.chains:
            mine.setdefault(chain, []).append(one.seen)
    own = {one.seen.node_id for one in (*new, *leaving)}
    gone = {one.seen.node_id for one in leaving}
    spans = [(chain, min(x.start_ms for x in seen), max(x.start_ms for x in seen)) for chain, seen in mine.items()]
    stretches, touched = {}, set()
    for (chain, first_ms, _), found in zip(spans, view.around(spans), strict=True):
        stored = [seen for seen in found if seen.node_id not in own]
        before = [*stored, *(replace(seen, until=None) for seen in mine[chain] if seen.node_id in gone)]
        stretches[chain] = _Stretch(first_ms, [*stored, *mine[chain]])
        touched |= _differing(stretches[chain], _Stretch(first_ms, before), own, since)
    return stretches, touched


def _differing(after: _Stretch, before: _Stretch, own: AbstractSet[int], since: int) -> set[int]:
    """The events of a chain, but for some, that have another event before them in `after` than in `before`."""
    found = set()
    for seen in after.events:
        if seen.node_id not in own and seen.start_ms >= after.first_ms:
            at = max(seen.learnt_at, since)
            if after.before(seen, at) != before.before(seen, at):
                found.add(seen.node_id)
    return found


def weave_passes(view: View, appearing: int, replaced: Sequence[int]) -> Woven:
    """The edges that change when a stored pass comes to be seen, in place of others that are withdrawn.

    `view` has taken note of the change. Costs as much as all the chains of the events of these passes; nothing when
    no other source shares their clock.
    """
    if view.is_alone(appearing):
        return Woven()
    with view.reading() as snapshot:
        mine, theirs = snapshot.chains.events_of([appearing]), snapshot.chains.events_of(replaced)
    withdrawn: dict[Chain, list[Seen]] = {}
    for one in _in_parts(view, theirs):
        for chain in one.chains:
            withdrawn.setdefault(chain, []).append(one.seen)
    chains = {chain for one in _in_parts(view, mine) for chain in one.chains} | withdrawn.keys()
    spans = [(chain, *_ALWAYS) for chain in chains]
    stretches, dsts = {}, set(mine)
    for (chain, first_ms, _), found in zip(spans, view.around(spans), strict=True):
        stretches[chain] = _Stretch(first_ms, found)
        before = [*(seen for seen in found if seen.node_id not in dsts), *withdrawn.get(chain, ())]
        dsts |= _differing(stretches[chain], _Stretch(first_ms, before), dsts, first_ms)
    woven, ids = Woven(), sorted(dsts.difference(theirs))
    for first in range(0, len(ids), _AT_ONCE):
        some = view.place_stored(ids[first : first + _AT_ONCE])
        woven.take(_made(view, [], some, stretches, _ALWAYS[0], frozenset(theirs)))
    return woven


def _in_parts(view: View, ids: Sequence[int]) -> Iterable[Placed]:
    for first in range(0, len(ids), _AT_ONCE):
        yield from view.place_stored(ids[first : first + _AT_ONCE])


def _made(
    view: View,
    new: Sequence[Placed],
    stored: Sequence[Placed],
    stretches: Mapping[Chain, _Stretch],
    since: int,
    withdrawn: AbstractSet[int],
) -> Woven:
    """The edges to new events, and what differs from the known edges to stored ones from `since` on."""
    before = _before(view, [*new, *stored], stretches, since)
    woven = Woven([version for one in new for version in versions(one, before[one.seen.node_id])])
    known: dict[int, list[EdgeRow]] = {one.seen.node_id: [] for one in stored}
    if stored:
        names = [channel.NAME for channel in CHANNELS]
        with view.reading() as snapshot:
            for edge in snapshot.chains.edges_into(known, names, since):
                if edge.src not in withdrawn:
                    known[edge.dst].append(edge)
    for one in stored:
        wanted = versions(one, before[one.seen.node_id])
        woven.take(_reconciled(wanted, known[one.seen.node_id], max(one.seen.learnt_at, since)))
    return woven


def _before(
    view: View, placed: Sequence[Placed], stretches: Mapping[Chain, _Stretch], since: int
) -> dict[int, dict[Chain, Steps]]:
    """What came before each event in each of its chains, by event; the chains not at hand are read together."""
    missing: list[tuple[Placed, Chain]] = []
    found: dict[int, dict[Chain, Steps]] = {}
    for one in placed:
        mine = found.setdefault(one.seen.node_id, {})
        for chain in one.chains:
            stretch = stretches.get(chain)
            known = None if stretch is None else stretch.before(one.seen, max(one.seen.learnt_at, since))
            if known is None:
                missing.append((one, chain))
            else:
                mine[chain] = known
    looked_up = view.around([(chain, one.seen.start_ms, one.seen.start_ms) for one, chain in missing])
    for (one, chain), events in zip(missing, looked_up, strict=True):
        earlier = [seen for seen in events if seen.place < one.seen.place]
        found[one.seen.node_id][chain] = steps(earlier, len(earlier), max(one.seen.learnt_at, since))
    return found


def _reconciled(wanted: Sequence[Version], known: Sequence[EdgeRow], since: int) -> Woven:
    """What to write and to retire, so that of the known edges to an event those that are wanted stand from `since`."""
    left = {(*version.key(), version.since): version for version in wanted}
    woven = Woven()
    for edge in known:
        begins = max(edge.learnt_at, since)
        version = left.pop((edge.channel, edge.src, edge.dst, edge.payload, begins), None)
        until = begins if version is None else version.until
        if until is not None and (edge.retired_at is None or until < edge.retired_at):
            woven.retired.append((edge.edge_id, until))
        elif version is not None and until != edge.retired_at:
            woven.edges.append(replace(version, since=edge.retired_at or 0))  # it holds longer than was known
    woven.edges += left.values()
    return woven
