"""Extractive answers: what the evidence says, in its own words, or that nothing in the memory answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from amr.records import Answer, Claim, Node, ObjectState
from amr.retrieve import wording
from amr.retrieve.calibration import calibration
from amr.retrieve.last_known import last_known
from amr.retrieve.query import Search, as_evidence
from amr.retrieve.question import WEARER, Question
from amr.retrieve.relevance import Candidate, speaks
from amr.retrieve.times import show_time

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from amr.config import Settings
    from amr.store.rows import View
    from amr.store.snapshot import Snapshot

_QUOTES = 3
_NEAR_BEST = 0.05
_KEPT = 0.1


def ask(
    snapshot: Snapshot,
    directory: Path,
    question: str,
    view: View,
    settings: Settings,
    k: int,
    lane: NDArray[np.float32] | None = None,
) -> Answer:
    """Answers from the visible evidence alone; the caller fills in `as_of` and `seconds`. `lane` as in Search."""
    search = Search(snapshot, question, view, settings, lane)
    found = search.candidates()
    state: ObjectState | None = None
    used: list[Candidate] = []
    text = ""
    if search.question.form == "where" and search.question.target:
        told = last_known(search, search.question.target, found[0].relevance if found else 0.0)
        if told is not None:
            state, used = told.state, told.cited
            text = wording.whereabouts(told.state, told.node)
    if not used:
        used = _best(search.question, found)
        text = _answer(search.question, used) if used else wording.NOTHING
    confidence = max([candidate.relevance for candidate in [*used, *found[:1]]], default=0.0)
    cited = {candidate.node.node_id for candidate in used}
    kept = [*used, *(c for c in found if c.node.node_id not in cited and c.relevance >= _KEPT)] if used else []
    return Answer(
        question=question,
        answer=text,
        found=bool(used),
        confidence=confidence,
        question_type=search.question.question_type,
        as_of=None,
        state=state,
        claims=_claims(used, text, state),
        evidence=as_evidence(snapshot, directory, kept[:k]),
    )


def _best(question: Question, found: Sequence[Candidate]) -> list[Candidate]:
    """The pieces that the answer quotes, in time order: the best and those as good; none below the threshold."""
    enough = [candidate for candidate in found if candidate.relevance >= calibration().threshold]
    if not enough:
        return []
    preferred = [candidate for candidate in enough if _suits(question, candidate.node)] or enough
    top = [candidate for candidate in preferred if candidate.relevance >= preferred[0].relevance - _NEAR_BEST]
    if question.latest:
        top = sorted(top, key=_moment)[-1:]
    return sorted(top[:_QUOTES], key=_moment)


def _moment(candidate: Candidate) -> tuple[int, int]:
    node = candidate.node
    start = node.t_start_ms or 0
    return (start if node.time_ms is None else node.time_ms), node.node_id


def _suits(question: Question, node: Node) -> bool:
    """Whether a node is of the sort that the question asks for."""
    modality = node.payload.get("modality")
    if question.form == "read":
        return modality == "read"
    if question.form == "said":
        return speaks(node, question.subject) if question.subject else modality == "heard"
    if question.form == "who":
        return any(person != WEARER for person in node.payload.get("persons", []))
    if question.form == "when":
        return modality != "heard" or not question.subject or speaks(node, question.subject)
    return True


def _answer(question: Question, used: Sequence[Candidate]) -> str:
    return "; ".join(_line(question, candidate.node) for candidate in used)


def _line(question: Question, node: Node) -> str:
    if question.form == "when":
        return f"{show_time(node)}: {_words(node)}"
    who = _who(question, node) if question.form == "who" else None
    return f"{wording.person(who)}: {wording.quote(node)}" if who else wording.quote(node)


def _words(node: Node) -> str:
    return node.text if '"' in node.text else f'"{node.text}"'


def _who(question: Question, node: Node) -> str | None:
    """The person asked for: whom the wearer dealt with, or else who acts or speaks."""
    persons = [str(person) for person in node.payload.get("persons", [])]
    if question.subject is not None:
        others = [person for person in persons if person not in (question.subject, WEARER)]
        return others[0] if others else None
    actors = [str(action["actor"]) for action in node.payload.get("actions", []) if action.get("actor")]
    return next(iter([*(persons[:1] if node.payload.get("modality") == "heard" else []), *actors, *persons]), None)


def _claims(used: Sequence[Candidate], text: str, state: ObjectState | None) -> list[Claim]:
    if state is not None:
        return [Claim(text, [candidate.node.node_id for candidate in used], True)]
    return [Claim(wording.quote(candidate.node), [candidate.node.node_id], True) for candidate in used]
