"""What the channels ask for when an event arrives, over time: what came before it is learnt bit by bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from amr.channels import CHANNELS
from amr.channels.chain import Chain, Seen, Steps
from amr.channels.links import Arrival, Link
from amr.records import Node
from amr.store.hashing import canonical_json


@dataclass(slots=True)
class Placed:
    """An event with its place in each of its chains."""

    node: Node
    seen: Seen
    chains: tuple[Chain, ...]


@dataclass(slots=True)
class Version:
    """An edge that holds from `since` on, until `until` if something else is known by then."""

    link: Link
    dst: Placed
    since: int
    until: int | None = None

    def key(self) -> tuple[str, int, int, str]:
        """The same for the same edge, whenever it holds."""
        return self.link.channel, self.link.src.node_id, self.dst.seen.node_id, canonical_json(self.link.payload)


def versions(placed: Placed, before: Mapping[Chain, Steps]) -> list[Version]:
    """The edges to an event, by the latest event before it in each of its chains, from each of some moments on."""
    moments = sorted({moment for known in before.values() for moment, _ in known})
    if len(moments) == 1:
        return [Version(link, placed, moments[0]) for link in _links(placed, before, moments[0])]
    standing: dict[tuple[str, int, int, str], Version] = {}
    found: list[Version] = []
    for moment in moments:
        asked = {one.key(): one for one in (Version(x, placed, moment) for x in _links(placed, before, moment))}
        for key in standing.keys() - asked.keys():
            standing.pop(key).until = moment
        for key in [key for key in asked if key not in standing]:
            standing[key] = asked[key]
            found.append(asked[key])
    return found


def _links(placed: Placed, before: Mapping[Chain, Steps], moment: int) -> list[Link]:
    latest: dict[tuple[str, str], Seen] = {}
    for chain, known in before.items():
        seen = known[-1][1] if len(known) == 1 else _at(known, moment)
        if seen is not None:
            latest[chain.role, chain.handle] = seen
    arrival = Arrival(placed.node, placed.seen, latest)
    return [link for channel in CHANNELS for link in channel.link(arrival)]


def _at(known: Steps, moment: int) -> Seen | None:
    return next((seen for since, seen in reversed(known) if since <= moment), None)
