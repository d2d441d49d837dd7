"""What the answer to a question is taken from: the best evidence of the sort asked for, and its words."""

from __future__ import annotations

from collections.abc import Sequence

from amr.records import WEARER, Claim, Node, ObjectState
from amr.retrieve import wording
from amr.retrieve.calibration import calibration
from amr.retrieve.question import Question
from amr.retrieve.relevance import Candidate, speaks
from amr.retrieve.times import show_time

_QUOTES = 3
_NEAR_BEST = 0.05
_CONVERSATION_MS = 30_000
_EXCHANGE_MS = 4_000
_REMARKS = 4


def best(question: Question, found: Sequence[Candidate]) -> list[Candidate]:
    """The pieces that the answer quotes, in time order: the best and those as good; none below the threshold."""
    enough = [candidate for candidate in found if candidate.relevance >= calibration().threshold]
    if not enough:
        return []
    preferred = [candidate for candidate in enough if _suits(question, candidate.node)]
    preferred = preferred or _said_beside(question, enough[0], found) or ([] if question.form == "who" else enough)
    if not preferred:
        return []
    top = [candidate for candidate in preferred if candidate.relevance >= preferred[0].relevance - _NEAR_BEST]
    if question.latest:
        top = sorted(top, key=lambda one: one.node.in_time)[-1:]
    chosen = sorted(top[:_QUOTES], key=lambda one: one.node.in_time)
    return _exchange(question, chosen) if question.form == "said" else chosen


def _said_beside(question: Question, best: Candidate, found: Sequence[Candidate]) -> list[Candidate]:
    """What was said around the best evidence, for a question about that: "I talked to the owner" tells when.

    A remark goes before a question.
    """
    if question.form != "said":
        return []
    near = (one for one in found if abs(one.node.moment_ms - best.node.moment_ms) <= _CONVERSATION_MS)
    said = [one for one in near if _suits(question, one.node)]
    return sorted(said, key=lambda one: one.node.text.rstrip('"').endswith("?"))[:1]


def _exchange(question: Question, chosen: Sequence[Candidate]) -> list[Candidate]:
    """The remarks chosen with those right beside them: what is said is often said in several, or as an answer."""
    found = {candidate.node.node_id: candidate for candidate in chosen}
    for candidate in chosen:
        for node in candidate.nearby:
            said = speaks(node, question.subject) if question.subject else node.payload.get("modality") == "heard"
            apart = abs((node.t_start_ms or 0) - (candidate.node.t_start_ms or 0))
            if said and apart <= _EXCHANGE_MS and len(found) < _REMARKS:
                found.setdefault(node.node_id, Candidate(node, (), relevance=candidate.relevance))
    return sorted(found.values(), key=lambda one: one.node.in_time)


def _suits(question: Question, node: Node) -> bool:
    """Whether a node is of the sort that the question asks for."""
    modality = node.payload.get("modality")
    if question.form == "read":
        return modality == "read"
    if question.form == "said":
        return speaks(node, question.subject) if question.subject else modality == "heard"
    if question.form == "where":
        return bool(node.payload.get("places")) or any(
            deed["spatial_relation"] for deed in node.payload.get("actions", ())
        )
    if question.form == "who":
        return any(person != WEARER for person in node.payload.get("persons", []))
    if question.form == "when":
        return modality != "heard" or not question.subject or speaks(node, question.subject)
    return True


def answer(question: Question, used: Sequence[Candidate]) -> str:
    """The words of the answer: one line for each piece of evidence used."""
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


def claims(used: Sequence[Candidate], text: str, state: ObjectState | None) -> list[Claim]:
    """What the answer claims, and the evidence for each claim."""
    if state is not None:
        return [Claim(text, [candidate.node.node_id for candidate in used], True)]
    return [Claim(wording.quote(candidate.node), [candidate.node.node_id], True) for candidate in used]
