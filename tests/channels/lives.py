"""Made-up lives: films of two clips with people who come, go and speak, and things that are put somewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from amr.channels.states import state_at
from amr.channels.view import View as Chains
from amr.records import Action, ClipAnalysis, EventReport, Modality, Node
from amr.store import database
from amr.store.rows import View
from amr.store.writer import writing
from tests.support.memories import EMBEDDER, Film

CLIP_SECONDS = 10
THINGS = ("cup", "key")
PEOPLE = ("wearer", "ann", "bob", "voice_1")


@dataclass(frozen=True)
class Moment:
    """Something that happens in a clip, in seconds of the clip."""

    start: int
    end: int
    who: tuple[str, ...]
    modality: Modality = "told"
    verb: str = "look at"
    thing: str = ""
    place: str = ""

    def report(self) -> ClipAnalysis:
        """The analysis of a clip in which nothing else happens."""
        text = f"{self.start} {self.end} {' '.join(self.who)} {self.verb} {self.thing} {self.place} {self.modality}"
        actor = self.who[0] if self.who else "somebody"
        action = Action(actor=actor, verb=self.verb, object=self.thing, spatial_relation=self.place)
        event = EventReport(
            local_event_id="e",
            time_start=self.start,
            time_end=self.end,
            summary=text,
            actors=list(self.who),
            actions=[action] if self.thing else [],
            modality=self.modality,
        )
        return ClipAnalysis(clip_summary=text, events=[event])

    def learnt(self) -> int:
        """When the memory may know of it, in seconds of the clip."""
        return self.end if self.modality in ("told", "heard") else CLIP_SECONDS


@dataclass(frozen=True)
class Reel:
    """A clip of a film of a life: which film, which clip, what happens in it in order of time."""

    film: str
    index: int
    moments: tuple[Moment, ...]


Clocks = dict[str, int | None]
"""The wall clock, in seconds, at which each film begins; None of one that has none."""

ALIKE: Clocks = {"head": 0, "chest": 4, "loose": None}


def moments() -> st.SearchStrategy[Moment]:
    """Anything that may happen."""

    def made(start: int, length: int, who: list[str], modality: Modality, deed: tuple[str, str], thing: str) -> Moment:
        verb, place = deed if thing else ("look at", "")
        return Moment(start, min(CLIP_SECONDS, start + length), tuple(sorted(who)), modality, verb, thing, place)

    deeds = st.sampled_from([("put", "on the table"), ("hold", ""), ("look at", ""), ("open", "")])
    modality = st.sampled_from(["told", "heard", "seen"])
    who = st.lists(st.sampled_from(PEOPLE), max_size=2, unique=True)
    return st.builds(made, st.integers(0, 9), st.integers(0, 9), who, modality, deeds, st.sampled_from(["", *THINGS]))


CLIPS = (("head", 0), ("head", 1), ("chest", 0), ("chest", 30), ("loose", 0), ("loose", 30))
"""The clips of a life, film by film: the two cameras see the same moments; before the last clips minutes pass."""


def reels(clips: Sequence[tuple[str, int]] = CLIPS) -> st.SearchStrategy[list[Reel]]:
    """The clips of a life, in order."""
    of_clip = st.lists(moments(), max_size=3, unique=True).map(lambda found: tuple(sorted(found, key=_begins)))
    return st.tuples(*(of_clip for _ in clips)).map(
        lambda found: [Reel(*clip, what) for clip, what in zip(clips, found, strict=True)]
    )


def _begins(moment: Moment) -> tuple[int, str]:
    return moment.start, repr(moment)


def remember(directory: Path, life: Iterable[Reel], clocks: Clocks = ALIKE, scope: str = "default") -> Path:
    """A memory of some clips, written one by one in the order given."""
    with writing(directory, "test", EMBEDDER) as writer:
        view, films = Chains(directory), dict[str, Film]()
        for reel in life:
            clock = clocks[reel.film]
            if reel.film not in films:
                wall_ms = None if clock is None else clock * 1000
                films[reel.film] = Film(writer, scope=scope, key=f"{scope} {reel.film}", wall_ms=wall_ms, view=view)
            films[reel.film].clip(reel.index, *(moment.report() for moment in reel.moments))
    return directory


def known_by(life: Iterable[Reel], second: int, clocks: Clocks = ALIKE) -> list[Reel]:
    """The part of a life that was known by some second, on the clock of each film."""

    def known(reel: Reel) -> tuple[Moment, ...]:
        begins = (clocks[reel.film] or 0) + reel.index * CLIP_SECONDS
        return tuple(moment for moment in reel.moments if begins + moment.learnt() <= second)

    return [Reel(reel.film, reel.index, known(reel)) for reel in life]


def root(directory: Path) -> str:
    """The root hash of a memory."""
    with database.reading(directory) as snapshot:
        return snapshot.root_hash()


@dataclass(frozen=True)
class Shown:
    """What a view shows of a memory, without ids: events, edges, and the states of things, latest first."""

    events: list[str]
    edges: list[tuple[str, str, str, str]]
    states: list[tuple[str, str, str]]


def shown(directory: Path, view: View) -> Shown:
    """What a view shows of a memory."""
    with database.reading(directory) as snapshot:
        nodes = snapshot.nodes(snapshot.visible(view))
        edges = snapshot.edges(sorted(nodes), view)
        states = state_at(snapshot, view, THINGS)
        return Shown(
            sorted(node.hash for node in nodes.values()),
            sorted((e.channel, nodes[e.src].hash, nodes[e.dst].hash, repr(sorted(e.payload.items()))) for e in edges),
            sorted((one.node.hash, one.object, one.state) for one in states),
        )


def linked(directory: Path, channel: str) -> list[tuple[Node, Node, dict[str, object]]]:
    """The standing edges of a channel as (earlier, later, payload), in order of time."""
    with database.reading(directory) as snapshot:
        nodes = snapshot.nodes(snapshot.visible(View()))
        edges = snapshot.edges(sorted(nodes), View(), channel)
        found = [(nodes[edge.src], nodes[edge.dst], edge.payload) for edge in edges]
    return sorted(found, key=lambda one: (start(one[1]), start(one[0]), repr(one[2])))


def start(node: Node) -> int:
    """When an event begins, on the clock of its source."""
    return (node.t_start_ms or 0) if node.time_ms is None else node.time_ms
