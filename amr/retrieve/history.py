"""Earlier times a thing was seen: "the time before that", "the second of the last three times", "did it change".

A time is a stretch of sightings of a thing with no more than a minute between them. Times are counted from the last
one that may be seen or, where the question says where that was ("the last time I saw the bowl in the sink"), from
the last one that is there. "Earlier I saw the bowl in the sink. Where did I see it the next time before now?" asks
for the last time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from amr.language.lemmas import lemma, word_list
from amr.language.names import handle, normalise_object
from amr.records import Node
from amr.retrieve import wording
from amr.retrieve.clauses import Clauses
from amr.retrieve.sequence import Reply

if TYPE_CHECKING:
    from amr.retrieve.query import Search

Aspect = Literal["place", "state", "handling"]

_APART_MS = 60_000
_LONGEST_NAME = 4
_LONGEST = 400
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}
_SEEN = re.compile(
    r"\b(?:saw|see|seen|noticed)\s+(?:the|my|a|an|some)?\s*(?P<words>[^?.,;]+)", re.IGNORECASE
)  # fmt: skip
_LAST_OF = re.compile(r"\blast (?P<n>two|three|four|five) times\b", re.IGNORECASE)
_NTH = re.compile(r"\bthe (?P<nth>first|second|third|fourth|fifth|last) time\b", re.IGNORECASE)
_BEFORE_LAST = re.compile(
    r"\bthe time before (?:that|the last|last)\b|\b(?:second[- ]to[- ]|next[- ]to[- ]|second[- ])last time\b"
    r"|\bthe last time but one\b|\bthe previous time\b",
    re.IGNORECASE,
)
_NEXT = re.compile(r"\bearlier\b.*\bthe next time\b", re.IGNORECASE | re.DOTALL)
_CHANGED = re.compile(
    r"\bchanged?\b|\bstay(?:ed)? the same\b|\bdifferent(?:ly)?\b|\bthe same (?:place|state|way)\b", re.IGNORECASE
)
_PLACE = re.compile(r"\bwhere did\b|\bwhere was\b|\bwhere were\b|\bplaces?\b|\blocations?\b", re.IGNORECASE)

_HANDLED = re.compile(r"\b(?:used|using|handled|handling|held|done|doing)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Recalled:
    """Which times of a thing a question is about, counted from the last, which is 1; two where it compares them."""

    words: str
    times: tuple[int, ...]
    aspect: Aspect


def history(search: Search, asked: Clauses) -> Reply | None:
    """The answer to a question about an earlier time that a thing was seen; None where it asks for none."""
    recalled = read_history(search.question.text)
    named = None if recalled is None else _thing(search, recalled.words)
    if recalled is None or named is None:
        return None
    thing, place = named
    times = _times(search, thing)
    if max(recalled.times) > 1:
        times = _from_there(times, _bare(place))
    if len(times) < max(recalled.times):
        return None
    chosen = [_telling(times[-number], thing, recalled.aspect) for number in recalled.times]
    if len(chosen) > 1:
        return Reply(_compared(chosen, thing, recalled.aspect), chosen)
    earlier = [_telling(one, thing, recalled.aspect) for one in reversed(times[: -recalled.times[0]])]
    return Reply(_told(chosen[0], thing, recalled.aspect), chosen, more=earlier)


def read_history(text: str) -> Recalled | None:
    """What a question says of earlier times, None when it says nothing of them."""
    seen = _SEEN.search(text) if len(text) <= _LONGEST else None
    if seen is None:
        return None
    aspect: Aspect = "place" if _PLACE.search(text) else "handling" if _HANDLED.search(text) else "state"
    several = _LAST_OF.search(text)
    if several is not None:
        number = _NUMBERS[several["n"].lower()]
        nth = _NTH.search(text, several.end())
        if nth is not None:
            place = number if nth["nth"].lower() == "last" else _NUMBERS[nth["nth"].lower()]
            return Recalled(seen["words"], (number - place + 1,), aspect) if place <= number else None
        return Recalled(seen["words"], (number, 1), aspect) if _CHANGED.search(text) else None
    if _BEFORE_LAST.search(text):
        return Recalled(seen["words"], (2,), aspect)
    return Recalled(seen["words"], (1,), aspect) if _NEXT.search(text) else None


def _thing(search: Search, words: str) -> tuple[str, str] | None:
    """The handle of the thing that words begin with, as the memory knows it, and the words after its name."""
    parts = words.split()
    for length in range(min(_LONGEST_NAME, len(parts)), 0, -1):
        name = handle(normalise_object(" ".join(parts[:length])))
        if name and len(search.mentioning([name], "object")):
            return name, " ".join(parts[length:])
    return None


def _times(search: Search, thing: str) -> list[list[Node]]:
    """The times that a thing was seen, in order, each with its events; what was only talked about does not count."""
    nodes = search.snapshot.nodes([int(i) for i in search.mentioning([thing], "object")]).values()
    times: list[list[Node]] = []
    for node in sorted(nodes, key=lambda node: node.in_time):
        if node.payload.get("modality") == "heard":
            continue
        if times and node.moment_ms - _end(times[-1][-1]) <= _APART_MS:
            times[-1].append(node)
        else:
            times.append([node])
    return times


def _end(node: Node) -> int:
    return node.moment_ms + (node.t_end_ms or 0) - (node.t_start_ms or 0)


def _from_there(times: list[list[Node]], place: frozenset[str]) -> list[list[Node]]:
    """The times up to the last one at a place; all of them where the place is none that was told."""
    if place:
        for last in range(len(times), 0, -1):
            if any(place <= _bare(node.text) for node in times[last - 1]):
                return times[:last]
    return times


def _telling(nodes: Sequence[Node], thing: str, aspect: Aspect) -> Node:
    """The event of a time that tells most of it: the last one that names a place, where a place is asked for."""
    telling = [node for node in nodes if aspect != "place" or place_of(node, thing)]
    return (telling or nodes)[-1]


def place_of(node: Node, thing: str) -> str:
    """Where an event says that a thing is; empty when it does not say."""
    told = [place for name, place in node.payload.get("places", {}).items() if handle(normalise_object(name)) == thing]
    done = [
        str(action.get("spatial_relation", ""))
        for action in node.payload.get("actions", [])
        if handle(normalise_object(str(action.get("object", "")))) == thing
    ]
    return next((place for place in [*told, *done] if place), "")


def _told(node: Node, thing: str, aspect: Aspect) -> str:
    place = wording.to_you(place_of(node, thing)) if aspect == "place" else ""
    return f"{place[:1].upper()}{place[1:]}: {wording.quote(node)}" if place else wording.quote(node)


def _compared(chosen: Sequence[Node], thing: str, aspect: Aspect) -> str:
    """Whether a thing was the same at two times: the same words tell what is asked of it."""
    first, last = (_of_aspect(node, thing, aspect) for node in chosen)
    quotes = ", then ".join(wording.quote(node) for node in chosen)
    return f"{'It stays the same' if first == last else 'It changes'}: {quotes}"


def _of_aspect(node: Node, thing: str, aspect: Aspect) -> frozenset[str]:
    """The words that tell a thing's place, its state (sentences that name it), or its handling (the others)."""
    place = place_of(node, thing)
    if aspect == "place":
        return _bare(place)
    sentences = re.split(r"(?<=[.!?])\s+", node.text)
    naming = [one for one in sentences if _bare(thing.replace("_", " ")) <= _bare(one)]
    others = [one for one in sentences if one not in naming]
    return _bare(" ".join((naming if aspect == "state" else others) or sentences)) - _bare(place)


def _bare(text: str) -> frozenset[str]:
    """The words that matter in a text, in any form."""
    found = re.findall(r"[^\W_]+", text.lower())
    return frozenset(lemma(word) for word in found if word not in word_list("stopwords"))
