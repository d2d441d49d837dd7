"""Extractive answers: what the evidence says, in its own words, or that nothing in the memory answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from amr.language.lemmas import singular
from amr.records import Answer, Evidence, Node, ObjectState
from amr.retrieve import chat_answer, extract, wording
from amr.retrieve.anchors import object_handles
from amr.retrieve.arrivals import arrivals
from amr.retrieve.calibration import calibration
from amr.retrieve.chat_ranking import is_chat
from amr.retrieve.clauses import Clauses, read_clauses
from amr.retrieve.counting import count, habit
from amr.retrieve.guidance import UNGUIDED, Guidance
from amr.retrieve.history import history
from amr.retrieve.last_known import Known, last_known
from amr.retrieve.moments import read_moment
from amr.retrieve.query import Search, as_evidence
from amr.retrieve.question import read_question
from amr.retrieve.relevance import Candidate
from amr.retrieve.remarks import in_conversation, remarks
from amr.retrieve.sequence import Reply, first_or_last, in_sequence
from amr.retrieve.things import things
from amr.retrieve.who import who
from amr.retrieve.words import bag_of_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from amr.config import Settings
    from amr.store.rows import View
    from amr.store.snapshot import Snapshot

_ANY_DAY = 0
_SOON_MS = 300_000
_DID = re.compile(r"\bwhere did (?:i|we)\b", re.IGNORECASE)
_CHAT_LOOKED_AT = 20
_NEAREST = 0.1
"""The least relevance of evidence that is shown though it does not answer."""


def ask(
    snapshot: Snapshot,
    directory: Path,
    question: str,
    view: View,
    settings: Settings,
    k: int,
    lane: NDArray[np.float32] | None = None,
    guidance: Guidance = UNGUIDED,
) -> Answer:
    """Answers from the visible evidence alone; the caller fills in `as_of` and `seconds`.

    Where nothing answers, no claim is made, and the evidence is what comes nearest.

    `lane` and `guidance` as in Search.
    """
    if is_chat(snapshot, view):
        return _from_chat(Search(snapshot, question, view, settings, lane, guidance), directory, question, k)
    meant, view = _limited(snapshot, question, view)
    search = Search(snapshot, meant, view, settings, lane, guidance)
    found = search.candidates()
    drawn = _drawn(search, found, read_clauses(meant))
    used, reply = drawn.used, drawn.reply
    confidence = max([candidate.relevance for candidate in [*used, *found[:1]]], default=0.0)
    shown = [*used, *(_as_candidates(search, reply.more) if reply is not None else [])]
    known = {candidate.node.node_id for candidate in shown}
    least = 0.0 if used else _NEAREST
    kept = [*shown, *(one for one in found if one.node.node_id not in known and one.relevance >= least)]
    return Answer(
        question=question,
        answer=drawn.text,
        found=bool(used),
        confidence=confidence,
        question_type=search.question.question_type,
        as_of=None,
        state=drawn.state,
        claims=extract.claims(used, drawn.text, drawn.state),
        evidence=_evidence(snapshot, directory, kept[:k], reply),
        trace=search.trace,
    )


def _from_chat(search: Search, directory: Path, question: str, k: int) -> Answer:
    """The answer from the turns of a chat: whoever said it, in their words."""
    found = search.candidates(max(k, _CHAT_LOOKED_AT))
    used = chat_answer.chosen(search.question, found)
    quoted = {candidate.node.node_id for candidate in used}
    least = 0.0 if used else _NEAREST
    kept = [*used, *(one for one in found if one.node.node_id not in quoted and one.relevance >= least)]
    return Answer(
        question=question,
        answer=chat_answer.answer(search.question, used),
        found=bool(used),
        confidence=max((candidate.relevance for candidate in found), default=0.0),
        question_type=search.question.question_type,
        as_of=None,
        state=None,
        claims=chat_answer.claims(search.question, used),
        evidence=as_evidence(search.snapshot, directory, kept[:k]),
        trace=search.trace,
    )


@dataclass
class _Drawn:
    """An answer and what it rests on: a reply of deeds, a state, or the best evidence; nothing where there is none."""

    used: list[Candidate]
    text: str
    reply: Reply | None = None
    state: ObjectState | None = None


def _drawn(search: Search, found: Sequence[Candidate], asked: Clauses) -> _Drawn:
    """What answers a question: what was done or said when, where a thing was left, else what is nearest to it."""
    reply = _of_deeds(search, asked)
    told: Known | None = None
    if search.question.form == "where" and search.question.target and (reply is None or _may_move_on(asked)):
        told = last_known(search, search.question.target, max((one.relevance for one in found), default=0.0))
    if reply is not None and not (told is not None and _is_later(told, reply)):
        return _Drawn(_as_candidates(search, reply.cited), reply.text, reply)
    if told is not None and not _beside_the_unheard_of(search, asked):
        return _Drawn(told.cited, wording.whereabouts(told.state, told.node, told.room), state=told.state)
    # A number is right or wrong: no deed to count is no answer.
    if told is not None or (asked.count and asked.acts and not asked.usual):
        return _Drawn([], wording.NOTHING)
    used = [one for one in extract.best(search.question, found) if _tells_of_target(search, one)]
    return _Drawn(used, extract.answer(search.question, used) if used else wording.NOTHING)


def _beside_the_unheard_of(search: Search, asked: Clauses) -> bool:
    """Whether the time asked about is told by a thing that the memory never mentions: "before I lost the bonsai"."""
    clause = set(bag_of_text(asked.clause).words)
    return any(term.kind in ("noun", "name") and term.word in clause for term in search.absent)


def _limited(snapshot: Snapshot, question: str, view: View) -> tuple[str, View]:
    """The question without its time words, and the view limited to the time that they say.

    A place is asked for as it was at the end of that time, what somebody did as done in it. Nothing is limited where
    there is no wall clock.
    """
    if not read_moment(question, _ANY_DAY).limits:
        return question, view
    now = _now(snapshot, view)
    if now is None:
        return question, view
    said = read_moment(question, now)
    from_ms, to_ms = said.limits or (None, None)
    if read_question(said.text).form == "where" and not _DID.search(question):
        from_ms = None
    later = [time for time in (view.from_ms, from_ms) if time is not None]
    earlier = [time for time in (view.to_ms, to_ms) if time is not None]
    return said.text, replace(view, from_ms=max(later, default=None), to_ms=min(earlier, default=None))


def _now(snapshot: Snapshot, view: View) -> int | None:
    """The moment of asking on the wall clock: as-of, else the last that is seen; None without a wall clock."""
    sources = snapshot.sources(view.scope)
    chosen = [row for row in sources if view.source_id in (None, row.source_id) and row.origin_wall_ms is not None]
    if not chosen or view.as_of is not None:
        return view.as_of if chosen else None
    seen = snapshot.visible(view)
    return int(snapshot.moments(seen, view).max()) if len(seen) else None


def _of_deeds(search: Search, asked: Clauses) -> Reply | None:
    """The answer of the first form that reads deeds along the time: earlier times, habits, numbers, sequences, ends."""
    replies = (form(search, asked) for form in _FORMS)
    return next((reply for reply in replies if reply is not None), None)


def _tells_of_target(search: Search, candidate: Candidate) -> bool:
    """Whether evidence names the thing that a "where" question looks for: no verb that sounds like it, "it coats"."""
    head = search.question.target.rsplit(" ", 1)[-1]
    if not head or search.question.form != "where":
        return True
    words = re.findall(r"\w+", candidate.node.text.lower())
    return head in map(singular, words) or bool(
        len(search.mentioning(object_handles(search.snapshot, search.view.scope, head)))
    )


def _may_move_on(asked: Clauses) -> bool:
    """Whether "where did I put it after …" asks for the place where it stayed, not the next one."""
    return asked.order == "after" and not asked.close and not asked.ordinal and bool(asked.acts)


def _is_later(told: Known, reply: Reply) -> bool:
    """Whether the thing was moved on soon after the deed of a reply."""
    return bool(told.state.place) and 0 < told.node.moment_ms - reply.cited[0].moment_ms <= _SOON_MS


_FORMS = (history, habit, count, in_conversation, in_sequence, first_or_last, arrivals, who, things, remarks)


def _as_candidates(search: Search, nodes: Sequence[Node]) -> list[Candidate]:
    """The events of a reply, in its order; that the deed asked about was found makes them relevant enough."""
    ids = list(dict.fromkeys(node.node_id for node in nodes))
    judged = {candidate.node.node_id: candidate for candidate in search.judged(ids, {})}
    for candidate in judged.values():
        candidate.relevance = max(candidate.relevance, calibration().threshold)
    return [judged[node_id] for node_id in ids]


def _evidence(snapshot: Snapshot, directory: Path, kept: Sequence[Candidate], reply: Reply | None) -> list[Evidence]:
    found = as_evidence(snapshot, directory, kept)
    for evidence in found:
        if reply is not None and evidence.node.node_id in reply.paths:
            evidence.path = reply.paths[evidence.node.node_id]
    return found
