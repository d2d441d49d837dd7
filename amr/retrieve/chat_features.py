"""What can be told of every turn and every session of a chat for a question, from its leaves at several scales."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from amr.retrieve.concepts import Concept
from amr.retrieve.scales import Directions, Ids, Line, Reach, Values, bm25, rarity

Features = dict[str, Values]

REACHES: dict[str, Reach] = {"three": (1, 1), "five": (2, 2), "from": (1, 0)}
"""The windows around a turn by name: how many turns before and after it they take in."""

Holding = Callable[[str], tuple[Ids, Values]]
"""Of a stem, the places of the leaves that have it, and how often each does."""


@dataclass(frozen=True)
class Talk:
    """The turns of a chat in order, and what no question changes of them.

    `speakers` [n] are handles, `times` [g] the wall clock of each session in ms, NaN where it is not known.
    """

    line: Line
    speakers: NDArray[np.str_]
    times: Values
    directions: Directions

    @property
    def size(self) -> int:
        """How many turns there are."""
        return len(self.speakers)


@dataclass(frozen=True)
class Put:
    """A question as it is put to a chat: its concepts and stems, who is asked about, and when.

    `whole` [d] is the vector of the question, `content` [d] that of its concepts; `near` [g] from 0 to 1 is how near
    each session is to the times that the question names, `during` [g] whether it is within them.
    """

    text: str
    concepts: Sequence[Concept]
    stems: Sequence[str]
    persons: frozenset[str]
    whole: NDArray[np.float32]
    content: NDArray[np.float32]
    near: Values
    during: Values


@dataclass
class Found:
    """The features of turns [n] and of sessions [g] by name."""

    turns: Features = field(default_factory=dict)
    sessions: Features = field(default_factory=dict)


@dataclass(frozen=True)
class Lane:
    """How often turns have each of some words: `counts` [n, k], `rare` [k] their rarity among turns."""

    counts: Values
    rare: Values

    @property
    def most(self) -> float:
        """What having every word is worth."""
        return max(float(self.rare.sum()), 1e-9)


def chat_features(talk: Talk, put: Put, holding: Holding, counted: float) -> Found:
    """Everything told of the turns and sessions of a chat; `counted` is the likeness from which a word is counted."""
    found = Found()
    own, like, count = _matrices(talk, put, holding, counted)
    exact = Lane(own, rarity(np.minimum(own, 1).sum(axis=0), talk.size))
    spoken = np.isin(talk.speakers, sorted(put.persons)).astype(float) if put.persons else np.full(talk.size, 0.5)
    _scores(found, "exact", talk, put, exact, spoken)
    _scores(found, "alike", talk, put, Lane(count, rarity(np.minimum(count, 1).sum(axis=0), talk.size)), spoken)
    importance = np.array([one.importance for one in put.concepts]) if put.concepts else np.ones(1)
    _coverage(found, "covers", talk, np.minimum(own, 1), exact, importance)
    _coverage(found, "means", talk, like, exact, importance)
    _plain(found, talk, put, holding)
    for name, vector in (("whole", put.whole), ("content", put.content)):
        _directions(found, name, talk, vector, spoken)
    _speaker(found, spoken)
    _times(found, talk, put)
    return found


def _matrices(talk: Talk, put: Put, holding: Holding, counted: float) -> tuple[Values, Values, Values]:
    """Of each concept in each turn [n, k]: how often it is there, how like it the likest word is, and both counted."""
    width = max(len(put.concepts), 1)
    own, like, count = (np.zeros((talk.size, width)) for _ in range(3))
    for column, concept in enumerate(put.concepts):
        for stem, likeness in concept.like.items():
            places, times = holding(stem)
            if not len(places):
                continue
            mine = stem in concept.own
            like[places, column] = np.maximum(like[places, column], 1.0 if mine else 0.95 * likeness)
            if mine:
                own[places, column] += times
            if mine or likeness >= counted:
                count[places, column] += times * (1.0 if mine else 0.9 * likeness)
    return own, like, count


def _scores(found: Found, name: str, talk: Talk, put: Put, lane: Lane, spoken: Values) -> None:
    """BM25 of the concepts at every scale, as shares of what having them all is worth."""
    line, turns, sessions = talk.line, found.turns, found.sessions
    importance = np.array([one.importance for one in put.concepts]) if put.concepts else np.ones(1)
    named = np.array([float(one.named) for one in put.concepts]) if put.concepts else np.zeros(1)
    leaf = bm25(lane.counts, line.lengths, lane.rare)
    turns[f"{name} turn"] = leaf.sum(axis=1) / lane.most
    _beside(turns, f"{name} turn", line)
    running = {(0, 0): lane.counts, **{reach: line.around(lane.counts, reach) for reach in (*REACHES.values(), (3, 3))}}
    for scale, reach in REACHES.items():
        turns[f"{name} {scale}"] = _share(running[reach], line.window(reach)[2], lane.rare)
    tapered = sum((running[reach] for reach in ((1, 1), (2, 2), (3, 3))), start=lane.counts) / 4
    lengths = sum((line.window((r, r))[2] for r in (1, 2, 3)), start=line.lengths) / 4
    turns[f"{name} tapered"] = _share(tapered, lengths, lane.rare)
    inside = line.totals(lane.counts)
    rare = rarity(np.minimum(inside, 1).sum(axis=0), line.groups)
    most = max(float(rare.sum()), 1e-9)
    session = bm25(inside, line.session_lengths, rare)
    ordered = np.sort(session, axis=1)[:, ::-1]
    sessions[f"{name} session"] = session.sum(axis=1) / most
    sessions[f"{name} best word"] = ordered[:, 0] / max(float(rare.max()), 1e-9)
    sessions[f"{name} two words"] = ordered[:, :2].sum(axis=1) / most
    sessions[f"{name} by turns"] = _share(inside, line.session_lengths, lane.rare)
    spoke = line.totals(lane.counts * (spoken > 0)[:, None])
    sessions[f"{name} spoken"] = bm25(spoke, line.totals(line.lengths * (spoken > 0)) + 1, rare).sum(axis=1) / most
    told = rare * importance
    sessions[f"{name} telling"] = (session * importance).sum(axis=1) / max(float(told.sum()), 1e-9)
    turns[f"{name} telling"] = (leaf * importance).sum(axis=1) / max(float((lane.rare * importance).sum()), 1e-9)
    sessions[f"{name} named"] = (session * named).sum(axis=1) / max(float((rare * named).sum()), 1e-9)
    turns[f"{name} named"] = (leaf * named).sum(axis=1) / max(float((lane.rare * named).sum()), 1e-9)
    for scale in ("turn", "three", "five", "from", "tapered", "telling"):
        sessions[f"{name} peak {scale}"] = line.peaks(turns[f"{name} {scale}"])
    sessions[f"{name} peak spoken"] = line.peaks(turns[f"{name} turn"] * (spoken > 0))
    for scale in ("session", "telling", "named", "by turns"):
        turns[f"{name} in session {scale}"] = sessions[f"{name} {scale}"][line.group]
    for scale in ("turn", "five", "from", "tapered"):
        turns[f"{name} {scale} of best"] = _of_best(turns[f"{name} {scale}"])
    for scale in ("session", "peak turn", "peak three", "spoken", "telling"):
        sessions[f"{name} {scale} of best"] = _of_best(sessions[f"{name} {scale}"])
    turns[f"{name} in session of best"] = sessions[f"{name} session of best"][line.group]


def _coverage(found: Found, name: str, talk: Talk, held: Values, lane: Lane, importance: Values) -> None:
    """How much of the question a turn, what is beside it, and a session have, whatever else they say."""
    line, turns, sessions = talk.line, found.turns, found.sessions
    before = np.maximum(held, line.before(held))
    beside = np.maximum(held, 0.8 * np.maximum(line.before(held), line.after(held)))
    for scale, values in (("turn", held), ("from", before), ("three", beside)):
        share = (values * lane.rare).sum(axis=1) / lane.most
        turns[f"{name} {scale}"], turns[f"{name} {scale} squared"] = share, share * share
        sessions[f"{name} peak {scale}"] = line.peaks(share)
    turns[f"{name} sharply"] = (held * held * lane.rare).sum(axis=1) / lane.most
    told = lane.rare * importance
    turns[f"{name} telling"] = (held * told).sum(axis=1) / max(float(told.sum()), 1e-9)
    inside = line.peaks(held)
    share = (inside * lane.rare).sum(axis=1) / lane.most
    sessions[f"{name} session"], sessions[f"{name} session squared"] = share, share * share
    sessions[f"{name} telling"] = (inside * told).sum(axis=1) / max(float(told.sum()), 1e-9)
    turns[f"{name} in session"] = share[line.group]
    pairs = lane.rare[1:] + lane.rare[:-1]
    for scale, values in (("pairs", held), ("pairs three", beside)):
        both = (values[:, 1:] * values[:, :-1] * pairs).sum(axis=1) / max(float(pairs.sum()), 1e-9)
        turns[f"{name} {scale}"] = both if len(pairs) else turns[f"{name} turn"]
    sessions[f"{name} pairs"] = line.peaks(turns[f"{name} pairs"])


def _plain(found: Found, talk: Talk, put: Put, holding: Holding) -> None:
    """BM25 of the question as it stands, names and small words included."""
    line = talk.line
    counts = np.zeros((talk.size, max(len(put.stems), 1)))
    for column, stem in enumerate(put.stems):
        places, times = holding(stem)
        counts[places, column] = times
    rare = rarity((counts > 0).sum(axis=0), talk.size)
    found.turns["plain turn"] = _share(counts, line.lengths, rare)
    for scale in ("three", "five"):
        reach = REACHES[scale]
        found.turns[f"plain {scale}"] = _share(line.around(counts, reach), line.window(reach)[2], rare)
    inside = line.totals(counts)
    found.sessions["plain session"] = _share(
        inside, line.session_lengths, rarity((inside > 0).sum(axis=0), line.groups)
    )
    found.sessions["plain peak turn"] = line.peaks(found.turns["plain turn"])
    found.sessions["plain peak five"] = line.peaks(found.turns["plain five"])
    found.turns["plain in session"] = found.sessions["plain session"][line.group]


def _directions(found: Found, name: str, talk: Talk, vector: NDArray[np.float32], spoken: Values) -> None:
    """Cosines at every scale."""
    line, turns, sessions, directions = talk.line, found.turns, found.sessions, talk.directions
    along = directions.leaves(vector)
    turns[f"{name} turn"] = along
    turns[f"{name} apart"] = directions.leaves_apart(along, vector)
    _beside(turns, f"{name} turn", line)
    for scale, reach in REACHES.items():
        turns[f"{name} {scale}"] = directions.windows(along, reach)
    sessions[f"{name} session"] = directions.sessions(along)
    sessions[f"{name} session apart"] = directions.sessions_apart(along, vector)
    for scale in ("turn", "apart", "three", "from", "five"):
        sessions[f"{name} peak {scale}"] = line.peaks(turns[f"{name} {scale}"])
    sessions[f"{name} peak spoken"] = line.peaks(np.where(spoken > 0, turns[f"{name} apart"], -0.2))
    turns[f"{name} in session"] = sessions[f"{name} session"][line.group]
    turns[f"{name} in session apart"] = sessions[f"{name} session apart"][line.group]


def _speaker(found: Found, spoken: Values) -> None:
    """Whether the one asked about speaks, and what is told together with that."""
    turns = found.turns
    turns["speaker"] = spoken
    for name in ("covers turn", "means turn", "alike turn", "alike turn before", "content turn"):
        turns[f"speaker {name}"] = spoken * turns[name]


def _times(found: Found, talk: Talk, put: Put) -> None:
    """How near the session is to the times that the question names."""
    turns, sessions, group = found.turns, found.sessions, talk.line.group
    sessions["near"], sessions["during"] = put.near, put.during
    turns["near"], turns["during"] = put.near[group], put.during[group]
    turns["near alike"] = turns["near"] * turns["alike turn"]
    sessions["near alike"] = put.near * sessions["alike peak turn"]


def _beside(turns: Features, name: str, line: Line) -> None:
    turns[f"{name} before"], turns[f"{name} after"] = line.before(turns[name]), line.after(turns[name])


def _share(counts: Values, lengths: Values, rare: Values) -> Values:
    return np.asarray(bm25(counts, lengths, rare).sum(axis=1) / max(float(rare.sum()), 1e-9))


def _of_best(values: Values) -> Values:
    best = float(values.max()) if len(values) else 0.0
    return values / best if best > 1e-9 else values * 0.0
