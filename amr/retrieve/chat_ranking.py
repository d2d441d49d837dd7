"""Ranks the turns and the sessions of a chat for a question, with no model.

A turn is worth the weighted sum of its features (`chat_features`, `chat_words`): its own words and direction, those of
the windows and the session around it, who speaks, and when. A session is worth that of its own features and of how
likely, by their scores, one of its turns is the one asked for. `scripts/fit_scales.py` learns the weights.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from amr.models.embedding import DIMENSIONS, embed
from amr.records import ASSISTANT, WEARER
from amr.resources import resource
from amr.retrieve.chat_features import Features, Found, Put, Talk, chat_features
from amr.retrieve.chat_lanes import lanes, session_lane, turn_lane
from amr.retrieve.chat_relevance import relevance_of
from amr.retrieve.chat_words import Said, read_turns
from amr.retrieve.concepts import concepts, scales, word_set, words
from amr.retrieve.named_times import named_spans, nearness, years_of
from amr.retrieve.scales import Directions, Ids, Line, Values, norms
from amr.store.text import terms_of

if TYPE_CHECKING:
    from amr.store.rows import View
    from amr.store.snapshot import Snapshot

READ = 200
"""So many of the most promising turns are read."""
_FAR = 9.0
"""A turn whose score is so much below the best one's adds nothing to its session."""


@dataclass(frozen=True)
class Chat:
    """The turns of a scope that a question may see: node ids [n] in the order of `talk`, and what was said in each.

    `said` [n] are the words of each turn with what is in the picture that goes with it, None without one.
    """

    ids: Ids
    talk: Talk
    said: Sequence[tuple[str, str | None]]


@dataclass(frozen=True)
class Weights:
    """What each feature of a turn, and of a session, is worth."""

    turns: Mapping[str, float]
    sessions: Mapping[str, float]


@dataclass(frozen=True)
class Ranked:
    """Turns by score, best first, as places in the chat [m] with scores [m], and every session's score [g].

    `turn_lanes` [r] are the lanes of the first of the turns, those that were read; `session_lanes` [g] of the sessions.
    """

    places: Ids
    scores: Values
    sessions: Values
    turn_lanes: Features
    session_lanes: Features


def is_chat(snapshot: Snapshot, view: View) -> bool:
    """Whether most of the visible nodes are turns or sessions of chats."""
    if all(source.kind != "chat" for source in snapshot.sources(view.scope)):
        return False
    visible = snapshot.visible(view)
    if not len(visible):
        return False
    if view.kinds == ("session",):
        return True
    return "turn" in view.kinds and 2 * len(chat_of(snapshot, view).ids) > len(visible)


@dataclass(frozen=True)
class Best:
    """A turn or a session with what it is worth beside the best one, and how far it bears on the question, 0 to 1.

    `lanes` say what it has beside others, by lane; empty for a turn that was not read.
    """

    node_id: int
    score: float
    relevance: float
    lanes: Mapping[str, float]


def best_of_chat(
    snapshot: Snapshot, view: View, question: str, vector: NDArray[np.float32] | None, most: int = READ
) -> list[Best]:
    """The `most` turns, or for the kind `session` alone sessions, that a question is about, best first.

    `vector` as in `put_to`.
    """
    chat = chat_of(snapshot, view)
    if not len(chat.ids):
        return []
    put = put_to(chat.talk, question, snapshot.wearer(view.scope), vector, asked_at(view))
    found = told_of(snapshot, view, chat, put)
    ranked = rank(chat, put, found, weights(chat.talk), most)
    relevance = relevance_of(found.turns, ranked.places)
    if view.kinds != ("session",):
        return _best(chat.ids[ranked.places[:most]], ranked.scores, relevance, ranked.turn_lanes)
    order = np.lexsort((np.arange(len(ranked.sessions)), -ranked.sessions))[:most]
    firsts = chat.ids[chat.talk.line.starts[order]]
    of = snapshot.sessions_of(firsts)
    ids = np.array([of[turn] for turn in firsts.tolist()], np.int64)
    bears = np.zeros(len(ranked.sessions))
    np.maximum.at(bears, chat.talk.line.group[ranked.places], relevance)
    lanes_of = {name: values[order] for name, values in ranked.session_lanes.items()}
    return _best(ids, ranked.sessions[order], bears[order], lanes_of)


def asked_at(view: View) -> int | None:
    """The moment of asking, in ms since the epoch; None when it is not known."""
    return view.as_of if view.asked_at is None else view.asked_at


def _best(ids: Ids, worth: Values, relevance: Values, told: Features) -> list[Best]:
    """The first of what has this worth and this relevance, as many as there are `ids`."""
    shares = np.round(np.exp(worth - worth[0]), 6)
    rows = zip(*(values[: len(ids)].tolist() for values in told.values()), strict=True)
    of_each: list[Mapping[str, float]] = [dict(zip(told, row, strict=True)) for row in rows]
    of_each += [{}] * (len(ids) - len(of_each))
    return [Best(*one) for one in zip(ids.tolist(), shares.tolist(), relevance.tolist(), of_each, strict=False)]


def weights(talk: Talk) -> Weights:
    """The shipped weights: people talk to one another otherwise than to an assistant."""
    return all_weights()["assistant" if ASSISTANT in talk.speakers else "people"]


@cache
def all_weights() -> dict[str, Weights]:
    """The shipped weights by who is talked to: `people` or an `assistant`."""
    data = json.loads(resource("configs/scales_weights.json").read_text(encoding="utf-8"))
    return {name: Weights(**found) for name, found in data.items()}


def chat_of(snapshot: Snapshot, view: View) -> Chat:
    """The visible turns of a scope."""
    seen = replace(view, kinds=("turn",), without=frozenset(), asked_at=None)
    # Questions asked at different times, but after all of it, see the same.
    same = snapshot.visible(seen).tobytes() if snapshot.kept is not None else seen
    return snapshot.derived(("chat", seen.scope, same), lambda: _read_chat(snapshot, seen))


def _read_chat(snapshot: Snapshot, view: View) -> Chat:
    rows = snapshot.chat_turns(view)
    ids: Ids = rows["node_id"]
    line = Line(rows["session"], rows["length"])
    times = rows["time_ms"][line.starts]
    said = [(words_said(*one), one[1]) for one in zip(rows["text"].tolist(), rows["caption"].tolist(), strict=True)]
    return Chat(ids, Talk(line, rows["speaker"], times, Directions(line, _vectors(snapshot, ids))), said)


def _vectors(snapshot: Snapshot, ids: Ids) -> NDArray[np.float32]:
    """The vectors of the turns [n, d]; zeros for a turn without."""
    known, rows = snapshot.vectors(np.sort(ids))
    vectors = np.zeros((len(ids), rows.shape[1] if len(known) else DIMENSIONS), np.float32)
    order = np.argsort(ids)
    vectors[order[np.searchsorted(ids[order], known)]] = rows
    return vectors


def put_to(
    talk: Talk, question: str, wearer: Sequence[str], vector: NDArray[np.float32] | None, now: int | None
) -> Put:
    """The question as it is put to a chat. `wearer` are the names of the owner of the memory.

    `vector` [d] is that of the question by the embedder that wrote the memory; None for the one in the package.
    """
    speakers = sorted(set(talk.speakers.tolist()))
    names = dict.fromkeys(wearer, WEARER) | {name: name for name in speakers if name not in (WEARER, ASSISTANT)}
    asked = set(words(question))
    persons = {names[name] for name in names if asked.intersection(name.split("_"))}
    if ASSISTANT in speakers:
        persons.add(ASSISTANT if asked & word_set("second_person") else WEARER)
    elif WEARER in speakers and asked & word_set("first_person"):
        persons.add(WEARER)
    about = concepts(question, [part for name in names for part in name.split("_")])
    content = " ".join(one.word for one in about) or question
    whole, inner = embed([question, content]) if vector is None else (vector, vector)
    near, during = nearness(named_spans(question, years_of(talk.times), now), talk.times)
    stems = [term for _, term in terms_of(question)]
    return Put(question, about, stems, frozenset(persons), whole, inner, near, during)


def told_of(snapshot: Snapshot, view: View, chat: Chat, put: Put) -> Found:
    """The features of all turns and sessions that take reading none of them."""
    order = np.argsort(chat.ids)
    ids = chat.ids[order]
    norm = norms(chat.talk.line.lengths)

    def holding(term: str) -> tuple[Ids, Values]:
        rows, filled = snapshot.having(view.scope, term)
        if not len(rows):
            return rows, filled
        at = np.minimum(np.searchsorted(ids, rows), len(ids) - 1)
        seen = ids[at] == rows
        places, part = order[at[seen]], np.minimum(filled[seen], 0.99)
        # Told back from the score: the index knows how often, but does not say it.
        return places, np.maximum(np.round(part * norm[places] / (1 - part)), 1.0)

    return chat_features(chat.talk, put, holding, scales()["alike"]["counted"])


def rank(chat: Chat, put: Put, found: Found, by: Weights, most: int = READ) -> Ranked:
    """The turns of a chat by what they are worth, `most` or more if there are, and what its sessions are worth.

    Only the most promising are read; those beyond come after them, by what is known without reading.
    """
    wide = weighted(found.turns, by.turns)
    promising = np.lexsort((np.arange(len(wide)), -np.round(wide, 6)))[: max(READ, most)]
    best, rest = promising[:READ], promising[READ:]
    read = read_of(chat, put, found, best)
    scores = wide[best] + weighted(read, by.turns)
    of_sessions = {**found.sessions, **from_turns(best, scores, chat.talk.line)}
    order = np.lexsort((best, -np.round(scores, 6)))
    of_turns = {name: values[best] for name, values in found.turns.items() if name in by.turns} | read
    return Ranked(
        places=np.concatenate([best[order], rest]),
        scores=np.round(np.concatenate([scores[order], np.minimum(wide[rest], scores.min())]), 6),
        sessions=np.round(weighted(of_sessions, by.sessions), 6),
        turn_lanes={name: values[order] for name, values in lanes(of_turns, by.turns, turn_lane).items()},
        session_lanes=lanes(of_sessions, by.sessions, session_lane),
    )


def weighted(found: Features, by: Mapping[str, float]) -> Values:
    """The sum of features [n], each by its weight; a feature without a weight counts for nothing."""
    size = len(next(iter(found.values())))
    return np.asarray(sum((found[name] * by[name] for name in found if name in by), start=np.zeros(size)))


def from_turns(places: Ids, scores: Values, line: Line) -> Features:
    """What the scores of the best turns tell of the sessions: of how many is it likely, and how good is the best."""
    below = np.maximum(scores - scores.max(), -_FAR) if len(scores) else scores
    likely, best = np.full(line.groups, np.exp(-_FAR)), np.full(line.groups, -_FAR)
    np.add.at(likely, line.group[places], np.exp(below))
    np.maximum.at(best, line.group[places], below)
    return {"likely turns": np.log(likely), "best turn": best}


def read_of(chat: Chat, put: Put, found: Found, places: Ids) -> Features:
    """The features of the turns at some places that take reading them."""
    line = chat.talk.line
    firsts = (line.ordinals[places] == 0).tolist()
    said = [
        Said(*_said(chat, place), "" if first else chat.said[place - 1][0])
        for place, first in zip(places.tolist(), firsts, strict=True)
    ]
    wide = {name: values[places] for name, values in found.turns.items()}
    return read_turns(put.text, said, wide, float(line.lengths.mean()))


def _said(chat: Chat, place: int) -> tuple[str, bool]:
    words, caption = chat.said[place]
    return words, caption is not None


def words_said(text: str, caption: str | None) -> str:
    """The words of a turn, without who says them and what is in the picture that goes with them."""
    _, _, words_of_turn = text.partition(": ")
    return words_of_turn.removesuffix(f"[image: {caption}]").rstrip() if caption else words_of_turn
