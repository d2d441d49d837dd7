"""The answer from a chat without a model: the turns that bear on the question most, in their own words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from amr.language.tokens import sentences
from amr.records import Claim, Node
from amr.retrieve import wording
from amr.retrieve.calibration import calibration
from amr.retrieve.chat_ranking import words_said
from amr.retrieve.concepts import concepts
from amr.retrieve.question import Question
from amr.retrieve.relevance import Candidate
from amr.retrieve.times import show_time

_QUOTES = 3
_AS_GOOD = 0.5
"""A turn that is worth this share of the best one is quoted beside it."""
_ASKING = 2
"""Sentences; a longer turn that ends with a question says something too."""
_LONG = 300
"""Characters; of a longer turn the sentences are quoted that have most of the question's words."""


def chosen(question: Question, found: Sequence[Candidate]) -> list[Candidate]:
    """The turns that the answer quotes, in time order; none when the best is below the threshold.

    Where it is asked what somebody said, only what they said. A turn that asks gives way to what answers it.
    """
    enough = [one for one in found if one.relevance >= calibration().threshold]
    if question.form == "said" and question.subject:
        enough = [one for one in enough if one.node.payload.get("speaker") == question.subject]
    if not enough:
        return []
    best = [one for one in enough[:_QUOTES] if one.rank >= _AS_GOOD * enough[0].rank]
    told = [one for one in best if not _asks(one.node)] or _replies(best, found) or best
    return sorted(told, key=lambda one: one.node.in_time)


def _asks(node: Node) -> bool:
    """Whether a turn does no more than ask."""
    return node.text.rstrip().endswith("?") and len(sentences(node.text)) <= _ASKING


def _replies(asking: Sequence[Candidate], found: Sequence[Candidate]) -> list[Candidate]:
    """Of what was found the turns right after some others."""
    after = {(one.node.clip_first, one.node.source_id, one.node.payload["n"] + 1) for one in asking}
    return [one for one in found if (one.node.clip_first, one.node.source_id, one.node.payload["n"]) in after]


def answer(question: Question, used: Sequence[Candidate]) -> str:
    """One line for each turn: when, who, and the words."""
    return "; ".join(_line(question.text, one.node) for one in used) or wording.NOTHING


def claims(question: Question, used: Sequence[Candidate]) -> list[Claim]:
    """What the answer claims, turn by turn."""
    return [Claim(_line(question.text, one.node), [one.node.node_id], True) for one in used]


def _line(question: str, node: Node) -> str:
    words = words_said(node.text, node.payload.get("caption")) or node.text
    return f'{show_time(node)}, {wording.person(node.payload["speaker"])}: "{_told(question, words)}"'


def _told(question: str, words: str) -> str:
    """The words of a turn, of a long one those around what is asked about."""
    words = " ".join(words.split())
    if len(words) <= _LONG:
        return words
    wanted = {one.word for one in concepts(question, [])}
    parts = sentences(words)
    first = max(range(len(parts)), key=lambda at: (len(wanted & set(re.findall(r"\w+", parts[at].lower()))), -at))
    told = parts[first]
    for part in parts[first + 1 :]:
        if len(told) + len(part) > _LONG:
            break
        told = f"{told} {part}"
    return f"{'… ' if first else ''}{told[:_LONG]}{' …' if not words.endswith(told) else ''}"
