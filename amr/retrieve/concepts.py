"""The words that a question is about, each with the stems under which leaves may have it or a word like it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from amr.language.lemmas import forms_of, lemma, verb_forms
from amr.models.embedding import length_of, words_near
from amr.resources import resource
from amr.store.text import cjk_bigrams, english_stems

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_WORD = re.compile(r"[a-z0-9à-ɏ]+(?:['’][a-z]+)?")
_OWNED = re.compile(r"['’]s$")
_NAMED = re.compile(r"(?<=[\w,;:'’] )['\"“]?([A-Z][\w'’]*|\d[\w:/.-]*)")
_QUOTED = re.compile(r"['\"“]([^'\"”]{3,60})['\"”]")


@dataclass(frozen=True)
class Concept:
    """A word of a question: the stems of its own forms, and of words like it with how like, up to 1.

    `importance` from 0 to 1.2 is how much the word tells wherever it stands; `named` says that it is a name, a number
    or quoted.
    """

    word: str
    own: frozenset[str]
    like: dict[str, float]
    importance: float
    named: bool


@cache
def scales() -> dict[str, Any]:
    """The constants of `configs/scales.toml`."""
    return tomllib.loads(resource("configs/scales.toml").read_text(encoding="utf-8"))


@cache
def word_set(name: str) -> frozenset[str]:
    """A word list of `configs/scales.toml`."""
    return frozenset(scales()[name].split())


def words(question: str) -> list[str]:
    """The words of a question in lower case, in order, without the 's of an owner."""
    return [_OWNED.sub("", word) for word in _WORD.findall(question.lower())]


def concepts(question: str, names: Iterable[str]) -> list[Concept]:
    """The words of a question that carry meaning, each once; `names` of those who speak are left to their own lane."""
    skipped = word_set("stopwords").union(names)
    named = {_OWNED.sub("", word.lower()) for word in _NAMED.findall(question)}
    named.update(word for quoted in _QUOTED.findall(question) for word in words(quoted))
    asked = [word for word in dict.fromkeys(words(question)) if word not in skipped and english_stems(word)]
    _look_up(asked)
    latin = [Concept(word, *_read(word), word in named) for word in asked]
    # In Chinese, Japanese and Korean a pair of characters is what is looked up, and what a word is.
    return latin + [Concept(pair, frozenset([pair]), {pair: 1.0}, 1.0, False) for pair in cjk_bigrams(question)]


_MOST = 4096
_near: dict[str, list[tuple[str, float]]] = {}
"""The words near those that were asked for, which questions share."""


def _look_up(asked: Sequence[str]) -> None:
    """Looks all words up at once, which is much quicker than one after another."""
    fresh = [word for word in asked if word not in _near]
    if len(_near) + len(fresh) > _MOST:
        _near.clear()
        fresh = list(asked)
    if fresh:
        limits = scales()["alike"]
        _near.update(zip(fresh, words_near(fresh, limits["least"], limits["most"]), strict=True))


def _read(word: str) -> tuple[frozenset[str], dict[str, float], float]:
    """The stems of a word's own forms, those of words like it, and its importance."""
    forms = {word, lemma(word), *_other_forms(word)}
    own = frozenset(stem for form in forms for stem in english_stems(form)[:1])
    like = dict.fromkeys(sorted(own), 1.0)
    for other, cosine in _near[word]:
        if other not in word_set("stopwords"):
            for stem in english_stems(other):
                like[stem] = max(like.get(stem, 0.0), cosine)
    return own, like, _importance(word)


def _other_forms(word: str) -> set[str]:
    """The forms of the verbs that a word may be a form of: "bought" is said of what somebody buys."""
    return set().union(*(forms_of(base) for base, _ in verb_forms(word)))


def _importance(word: str) -> float:
    limits = scales()["importance"]
    length = length_of(word)
    if not length:
        return 1.0
    share = (length - limits["none"]) / (limits["full"] - limits["none"])
    return float(min(1.2, max(0.05, share)))
