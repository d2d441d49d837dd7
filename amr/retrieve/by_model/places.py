"""Which place words say of a thing, to tell "on the table" from "under the table" and "in the fridge"."""

from __future__ import annotations

import re

from amr.language.lemmas import lemma, word_list

_KINDS = {
    "on": "on onto upon atop",
    "in": "in into inside within",
    "under": "under underneath beneath below",
    "above": "above over",
    "behind": "behind",
    "front": "front",
    "left": "left",
    "right": "right",
    "outside": "outside",
    "between": "between among",
    "beside": "next beside alongside",
    "near": "near by at against close",
}
_KIND = {word: kind for kind, words in _KINDS.items() for word in words.split()}
_SIDE = re.compile(
    r"\b(left|right)(?:-hand)?\s+(?!after|before|now|away|there|here|next|behind|on\b|in\b|at\b|under|the\b|an?\b|my\b|your\b"
    r"|his\b|her\b|their\b|its?\b|them\b|to\b|with\b|beside|and\b)\w"
    r"|\b(?:the|my|your|his|her|their|turn\w*|walk\w*|look\w*)\s+(left|right)\b(?!\s+(?:after|before|now|away))",
    re.IGNORECASE,
)
_NEUTRAL = frozenset(("near",))
"""What stands beside a thing may be said to be at it; the others exclude each other."""

WORDS = frozenset(_KIND) | frozenset(("top", "side", "off"))
"""Words that say where rather than what; looked at here, not one by one."""

_PHRASE = re.compile(
    r"\b(in front of|on top of|next to|close to|(?:to|on) (?:the|my|your|his|her|their) (?:left|right) (?:side )?of"
    rf"|{'|'.join(sorted(_KIND, key=len, reverse=True))})\s+"
    r"((?:the|a|an|my|your|his|her|their|its|our|this|that|[A-Z]\w*['’]s)\s+)?((?:[^\W\d_]+[ -]){0,2}[^\W\d_]+)",
    re.IGNORECASE,
)
_SOFT_WORDS = "morning evening afternoon night day time front top left right side order fact"
_SOFT = frozenset(_SOFT_WORDS.split())
"""Stand after a preposition as a place does, and are none."""


def in_text(text: str) -> list[tuple[str, str]]:
    """(kind of preposition, last word of the place) for each place that a text names with an article or owner."""
    found = []
    for match in _PHRASE.finditer(text):
        place = _head(match[3])
        if match[2] and place and place not in _SOFT:
            found.append((_kind(match[1]), place))
    return found


def agree(kind: str, place: str, text: str) -> bool:
    """Whether a text that names a place says the same, or nothing, of how things lie to it."""
    kinds = {how for how, where in _any(text) if _alike(where, place)}
    return not kinds or kind in kinds or kind in _NEUTRAL or bool(kinds & _NEUTRAL)


def side_lacking(claim: str, text: str) -> str:
    """A side, left or right, that a claim tells and the text does not; empty when there is none."""
    sides = [(found[1] or found[2]).lower() for found in _SIDE.finditer(claim)]
    return next((side for side in sides if side not in text.lower().split()), "")


def _any(text: str) -> list[tuple[str, str]]:
    return [(_kind(match[1]), _head(match[3])) for match in _PHRASE.finditer(text)]


def _kind(words: str) -> str:
    low = words.lower().split()
    for word in ("front", "left", "right", "top"):
        if word in low:
            return "on" if word == "top" else word
    return _KIND[low[0]]


def _head(phrase: str) -> str:
    """The last word of the noun phrase that a phrase begins with: "kitchen counter" of "kitchen counter and"."""
    words = []
    for word in re.split(r"[ -]", phrase.lower()):
        if word in word_list("stopwords") or word in word_list("spatial") or word in _KIND:
            break
        words.append(word)
    return words[-1] if words else ""


def _alike(first: str, second: str) -> bool:
    return lemma(first) == lemma(second)
