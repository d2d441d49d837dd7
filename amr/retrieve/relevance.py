"""How far an event bears on a question, from 0 to 1: whether each word asked about is accounted for.

The features are coverages from 0 to 1; `configs/retrieve.toml` holds the weights that `scripts/calibrate.py`
fitted. Nothing here depends on how large the memory is, so the same words are believed alike everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from amr.language.lemmas import lemma
from amr.language.states import state_of
from amr.records import Node, Step
from amr.retrieve.calibration import calibration
from amr.retrieve.question import Question, Term
from amr.retrieve.words import Bag, bag_of

FEATURES = (
    "known",
    "things_least",
    "things_mean",
    "nearby_least",
    "nearby_mean",
    "verb",
    "attributes",
    "aside",
    "cosine",
)
_REPORTING = frozenset(
    [
        "say",
        "tell",
        "mention",
        "ask",
        "talk",
        "discuss",
        "answer",
        "reply",
        "explain",
        "suggest",
        "speak",
        "shout",
        "describe",
    ]
)

_UNLIKE, _ALIKE = 0.4, 0.7

Likeness = Callable[[str, frozenset[str]], float]
"""How near in meaning a word is to the nearest of some words, as a cosine."""


@dataclass
class Candidate:
    """A node with the nodes right before and after it, and what was found out about it.

    `fused` is the sum of its reciprocal ranks in the lanes, `path` the walk that came to it from an anchor; `merits`
    put it in order, and `rank` is what they are worth together.
    """

    node: Node
    nearby: Sequence[Node]
    cosine: float = 0.0
    fused: float = 0.0
    features: dict[str, float] = field(default_factory=dict)
    relevance: float = 0.0
    path: list[Step] = field(default_factory=list)
    merits: dict[str, float] = field(default_factory=dict)
    rank: float = 0.0


def judge(question: Question, candidate: Candidate, likeness: Likeness, absent: frozenset[Term]) -> None:
    """Fills in the candidate's features and relevance; `absent` are the terms that the memory never mentions."""
    candidate.features = features(question, candidate, likeness, absent)
    candidate.relevance = probability(candidate.features)


def probability(found: dict[str, float]) -> float:
    """The calibrated relevance of an event with these features."""
    weights = calibration().weights
    logit = weights["bias"] + sum(weights[name] * found[name] for name in FEATURES)
    return round(1 / (1 + math.exp(-logit)), 4)


def features(question: Question, candidate: Candidate, likeness: Likeness, absent: frozenset[Term]) -> dict[str, float]:
    """The features of an event for a question, each from 0 to 1."""
    own = bag_of(candidate.node)
    bags = [own, *(bag_of(node) for node in candidate.nearby if _may_explain(question, node))]
    asked = [term for term in question.terms if term.asked]
    things = [term for term in asked if term.kind in ("noun", "name")]
    verb_terms = [term for term in asked if term.kind == "verb"]
    if not things:
        things, verb_terms = verb_terms, []

    def around(term: Term, inside: float) -> float:
        """Also what was right before and after; a speaker is not made up for by the next one's name."""
        if inside >= 0.9 or (question.form == "said" and term.kind == "name"):
            return inside
        return max([inside, *(0.9 * _covered(term, bag, likeness) for bag in bags[1:])])

    in_event = [_thing(question, term, candidate.node, own, likeness) for term in things]
    nearby = [around(term, inside) for term, inside in zip(things, in_event, strict=True)]
    attributes = [around(term, _covered(term, own, likeness)) for term in asked if term.kind == "attribute"]
    aside = [around(term, _covered(term, own, likeness)) for term in question.terms if not term.asked]
    known = [around(term, _covered(term, own, likeness)) for term in question.terms if term in absent]
    # For a question of small words: "what is written there?" is about any text, others about what is alike.
    alike = min(1.0, max(0.0, (candidate.cosine - _UNLIKE) / (_ALIKE - _UNLIKE)))
    if question.form == "read" and candidate.node.payload.get("modality") == "read":
        alike = 1.0
    return {
        "known": min(known, default=1.0),
        "things_least": min(in_event, default=alike),
        "things_mean": _mean(in_event, alike),
        "nearby_least": min(nearby, default=alike),
        "nearby_mean": _mean(nearby, alike),
        "verb": _mean([_verb(term, candidate.node, own) for term in verb_terms], 1.0),
        "attributes": _mean(attributes, 1.0),
        "aside": _mean(aside, 1.0),
        "cosine": max(0.0, candidate.cosine),
    }


def _may_explain(question: Question, node: Node) -> bool:
    """What somebody said is not made up for by the next one's words."""
    return question.form != "said" or question.subject is None or speaks(node, question.subject)


def _mean(values: list[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def _thing(question: Question, term: Term, node: Node, bag: Bag, likeness: Likeness) -> float:
    if question.form == "said" and term.kind == "name" and term.word == question.subject:
        return 1.0 if speaks(node, term.word) else 0.2 * _covered(term, bag, likeness)
    return _covered(term, bag, likeness)


def speaks(node: Node, person: str) -> bool:
    """Whether the words of a node are this person's, or it reports what they said."""
    payload = node.payload
    persons = payload.get("persons", [])
    if payload.get("modality") == "heard" and persons and persons[0] == person:
        return True
    return any(
        action.get("actor") == person and lemma(str(action.get("verb", "")).split(" ")[0]) in _REPORTING
        for action in payload.get("actions", [])
    )


def _covered(term: Term, bag: Bag, likeness: Likeness) -> float:
    if len(term.word) == 1 and term.bigrams:
        return float(any(term.word in pair for pair in bag.bigrams))
    if term.bigrams:
        return sum(pair in bag.bigrams for pair in term.bigrams) / len(term.bigrams)
    if term.lemma in bag.words or term.word in bag.words or term.pairs & bag.words or term.lemma in bag.pairs:
        return 1.0
    if term.also & bag.words or term.also & bag.pairs:
        return 0.9
    if term.kind == "name":
        return 0.0
    return _soft(likeness(term.word, bag.words))


def _soft(cosine: float) -> float:
    none, full, most = calibration().soft
    return most * min(1.0, max(0.0, (cosine - none) / (full - none)))


def _verb(term: Term, node: Node, bag: Bag) -> float:
    if term.lemma in bag.words:
        return 1.0
    if term.also & bag.words:
        return 0.9
    state = state_of(term.lemma)
    done = {state_of(str(action.get("verb", ""))) for action in node.payload.get("actions", [])}
    return 0.7 if state is not None and state in done else 0.0
