"""Deeds told in fewer words than a question has: of the thing without what it is like, on the occasion meant.

"Who gave me that long supermarket receipt?" may be told as "Nora handed me a receipt.", while the supermarket was
spoken of around that time; "at lunch" is around noon.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from amr.language.lemmas import content_lemmas, verb_forms, verbs
from amr.language.states import PLACED, state_of
from amr.retrieve.acts import Hit, find_acts, is_named, verb_words
from amr.retrieve.calibration import calibration
from amr.retrieve.clauses import Act

if TYPE_CHECKING:
    from amr.retrieve.query import Search

_OCCASION_MS = 30 * 60_000
_SOON_MS = 2 * 60_000
_TELLINGS = 2_000
_DAY_MS, _HOUR_MS = 86_400_000, 3_600_000
_MEALS = {"breakfast": (5, 12), "brunch": (9, 14), "lunch": (11, 16), "dinner": (16, 23), "supper": (17, 24)}
_LIGHT = frozenset(("make", "take", "have", "give", "do"))
_ME = re.compile(r"\b(?:me|us)\b")


def likely_acts(search: Search, act: Act, said: str = "") -> list[Hit]:
    """The events that do this, by all the words of the question, else by fewer; in order of time.

    The words left out must be told, in any form, within half an hour of the deed: a question that names what the
    memory never mentions has none.
    """
    hits = [hit for hit in find_acts(search, act, said) if hit.placed]
    deed = _light(act)
    if not hits and deed is not None:
        return likely_acts(search, deed)
    if hits or any(term.asked for term in search.absent):
        return hits
    for fewer in _fewer(act):
        left_out = _words(f"{act.object} {act.place} {said}") - _words(f"{act.actor} {fewer.object} {fewer.place}")
        left_out -= {act.verb, *content_lemmas(act.verb), *content_lemmas(act.actor.replace("_", " "))}
        hits = on_occasion(search, [hit for hit in find_acts(search, fewer) if hit.placed], left_out)
        if hits:
            return hits
    if state_of(act.verb) != "given" or not is_named(act.object):
        return []
    hits = find_acts(search, replace(act, object="", place="to me" if "to me" in act.place else ""))
    return on_occasion(search, hits, _words(f"{act.object} {act.place}"), _SOON_MS)


def as_described(search: Search, hits: Sequence[Hit]) -> list[Hit]:
    """Those of the occasion that the question only describes, "the drink I chose at the station"; else all."""
    aside = {term.lemma for term in search.question.terms if not term.asked and term.kind in ("noun", "name")}
    return on_occasion(search, hits, frozenset(aside)) or list(hits)


def _light(act: Act) -> Act | None:
    """ "Make a toast" is to toast, "take a photo" stays: the deed that the thing of a light verb names."""
    words = act.object.split()
    if act.verb not in _LIGHT or not words or not any("b" in tags for _, tags in verb_forms(words[-1])):
        return None
    return replace(act, verb=words[-1], object="")


def _fewer(act: Act) -> Iterator[Act]:
    """The act without its occasion, then with ever fewer words for what the thing is like."""
    beside_me = _ME.search(act.place) and not is_named(act.object) and state_of(act.verb) != "given"
    place = act.place if beside_me or state_of(act.verb) in PLACED else ""
    yield replace(act, place=place)
    words = act.object.split() if is_named(act.object) else []
    for start in range(1, len(words)):
        yield replace(act, object=" ".join(words[start:]), place=place)


def _words(text: str) -> frozenset[str]:
    return frozenset(content_lemmas(text)) - calibration().asking - calibration().loose - calibration().attributes


def on_occasion(search: Search, hits: Sequence[Hit], words: frozenset[str], within: int = _OCCASION_MS) -> list[Hit]:
    """The deeds within so many milliseconds of which each of these words was told; meals are told by the clock."""
    kept = list(hits)
    for word in sorted(words):
        if not kept:
            break
        if word in _MEALS and all(hit.node.time_ms is not None for hit in kept):
            start, end = _MEALS[word]
            kept = [hit for hit in kept if start <= hit.node.moment_ms % _DAY_MS / _HOUR_MS < end]
        else:
            kept = _around_tellings(search, kept, word, within)
    return kept


def _around_tellings(search: Search, hits: list[Hit], word: str, within: int) -> list[Hit]:
    forms = {word, *calibration().synonyms.get(word, ()), *(verb_words(word) if word in verbs().forms else ())}
    query = " ".join(form.replace("_", " ") for form in sorted(forms))
    told = search.snapshot.latest_with(search.view.scope, query, search.visible, _TELLINGS)
    at = np.sort(search.snapshot.moments(told, search.view)) if len(told) else np.zeros(0, np.int64)

    def is_near(hit: Hit) -> bool:
        when = hit.node.moment_ms
        return bool(np.searchsorted(at, when - within) < np.searchsorted(at, when + within, "right"))

    return [hit for hit in hits if is_near(hit)]
