"""The words of a node, as they are compared with the words of a question."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from amr.language.lemmas import lemma
from amr.records import WEARER, Node
from amr.store.text import cjk_bigrams

_WORD = re.compile(r"[a-zA-Z0-9À-ɏ]+(?:['’][a-zA-Z]+)?")

_LETTERS = re.compile(r"[a-z]{3,}")


@dataclass(frozen=True)
class Bag:
    """The lemmas and surface words of a text, neighbours joined ("flower pot" → "flowerpot"), and CJK bigrams."""

    words: frozenset[str]
    pairs: frozenset[str]
    bigrams: frozenset[str]


def bag_of(node: Node) -> Bag:
    """The words of a node: its text, and the persons, objects and dialogue that the text lacks."""
    if node.hash not in _bags:
        if len(_bags) >= _MOST:
            _bags.clear()
        _bags[node.hash] = _read(node)
    return _bags[node.hash] if node.hash else _read(node)


_MOST = 20_000
_bags: dict[str, Bag] = {}
"""By the hash of a node's content: a question compares some thousand nodes, many of them asked for again."""


def _read(node: Node) -> Bag:
    payload = node.payload
    more = [*payload.get("dialogue", []), *payload.get("objects", [])]
    persons = [person.replace("_", " ") for person in payload.get("persons", []) if person != WEARER]
    return bag_of_text("\n".join([node.text, *(item for item in more if item not in node.text), *persons]))


@lru_cache(maxsize=4096)
def bag_of_text(text: str) -> Bag:
    """The words of a text."""
    low = [word.lower().replace("’", "'").removesuffix("'s") for word in _WORD.findall(text)]
    lemmas = [lemma(word) for word in low]
    pairs = frozenset(first + second for first, second in zip(low, lemmas[1:], strict=False))
    parts = [part for word in low if not word.isalpha() for part in _LETTERS.findall(word)]  # "maple" of "maple4821"
    return Bag(frozenset([*low, *lemmas, *parts]), pairs, frozenset(cjk_bigrams(text)))


def words_of(node: Node) -> frozenset[str]:
    """The lemmas of a node's text alone: equal for texts that say the same."""
    return bag_of_text(node.text).words
