"""English words without a model: what form of which verb a word is, singulars, and the content words of a text.

Everything comes from `configs/verbs.toml` and `configs/words.toml` and the spelling rules of English, so the
first call costs some milliseconds; a dictionary would be more complete and some ten times slower to load.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from amr.resources import resource

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Form = tuple[str, str]
"""A verb's base form and the tags of an inflected form of it.

b base, s third person, p past, n participle, g -ing.
"""

_TOKEN = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
_ONE_VOWEL = re.compile(r"(?:qu|[^aeiou])*[aeiou][^aeiouwxy]")
_VOWELS = "aeiou"


@cache
def table(name: str) -> dict[str, Any]:
    """The word table `configs/<name>.toml` as plain data."""
    return tomllib.loads(resource(f"configs/{name}.toml").read_text(encoding="utf-8"))


@cache
def word_list(name: str) -> frozenset[str]:
    """A list of `configs/words.toml`; "-" inside an entry stands for a space in the text."""
    return frozenset(table("words")[name].split())


@cache
def verb_list(name: str) -> frozenset[str]:
    """A list of section `[classes]` of `configs/verbs.toml`."""
    return frozenset(table("verbs")["classes"][name])


@dataclass(frozen=True)
class Verbs:
    """Every form of every verb, and what verbs take beside them."""

    forms: dict[str, tuple[Form, ...]]
    often_nouns: frozenset[str]
    separable: dict[str, frozenset[str]]
    selected: dict[str, frozenset[str]]
    light: dict[str, str]
    light_verbs: frozenset[str]


@cache
def verbs() -> Verbs:
    """The verb inventory of `configs/verbs.toml`."""
    data = table("verbs")
    irregular = [entry.split() for entry in data["verbs"]["irregular"]]
    doubled = frozenset(data["verbs"]["doubled"].split())
    forms: dict[str, dict[str, str]] = {}

    def add(form: str, base: str, tags: str) -> None:
        known = forms.setdefault(form, {})
        known[base] = known.get(base, "") + tags

    special = {base for base, _, _ in irregular}
    for base in [*data["verbs"]["regular"].split(), *sorted(doubled), *sorted(special)]:
        double = base in doubled or _ONE_VOWEL.fullmatch(base) is not None
        add(base, base, "b")
        add(_third_person(base), base, "s")
        for form in _ing_forms(base, double):
            add(form, base, "g")
        if base not in special:
            for form in _past_forms(base, double):
                add(form, base, "pn")
    for base, past, participle in irregular:
        for form in past.split("/"):
            add(form, base, "p")
        for form in participle.split("/"):
            add(form, base, "n")
    for form, base, tags in (("being", "be", "g"), ("been", "be", "n"), ("be", "be", "b")):
        add(form, base, tags)
    add("has", "have", "s")
    add("does", "do", "s")
    return Verbs(
        forms={form: tuple(found.items()) for form, found in forms.items()},
        often_nouns=frozenset(data["verbs"]["often_nouns"].split()),
        separable=_choices(data["particles"]["separable"]),
        selected=_choices(data["prepositions"]["selected"]),
        light=dict(entry.split() for entry in data["light"]["nouns"]),
        light_verbs=frozenset(data["light"]["verbs"]),
    )


def _choices(entries: list[str]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for entry in entries:
        verb, _, words = entry.partition(" ")
        found[verb] = found.get(verb, frozenset()) | frozenset(words.split("|"))
    return found


def _third_person(base: str) -> str:
    if base.endswith(("s", "x", "z", "ch", "sh")) or base in ("go", "do", "echo", "veto"):
        return base + "es"
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "ies"
    return base + "s"


def _past_forms(base: str, double: bool) -> list[str]:
    if base.endswith("e"):
        return [base + "d"]
    if base.endswith("y") and base[-2] not in _VOWELS:
        return [base[:-1] + "ied"]
    return [base + base[-1] + "ed"] if double else [base + "ed"]


def _ing_forms(base: str, double: bool) -> list[str]:
    if base == "be":
        return ["being"]
    if base.endswith("ie"):
        return [base[:-2] + "ying"]
    if base.endswith("e") and not base.endswith(("ee", "oe", "ye")):
        return [base[:-1] + "ing"]
    return [base + base[-1] + "ing"] if double else [base + "ing"]


def verb_forms(word: str) -> tuple[Form, ...]:
    """The verbs that a lowercase word may be a form of, with the tags of the form; empty if none."""
    return verbs().forms.get(word, ())


def forms_of(base: str) -> tuple[str, ...]:
    """Every form of a verb, itself included; none of a word that is no verb."""
    return _by_base().get(base, ())


@cache
def _by_base() -> dict[str, tuple[str, ...]]:
    known: dict[str, list[str]] = {}
    for form, found in verbs().forms.items():
        for base, _ in found:
            known.setdefault(base, []).append(form)
    return {base: tuple(forms) for base, forms in known.items()}


@cache
def _plurals() -> dict[str, str]:
    words = table("words")["irregular_plurals"].split()
    return dict(zip(words[::2], words[1::2], strict=True))


@lru_cache(maxsize=65536)
def singular(word: str) -> str:
    """The singular of a lowercase noun; nouns such as `glasses` and `scissors` stay as they are."""
    if len(word) < 4 and word not in _plurals():
        return word
    if word in word_list("invariable") or not word.endswith(("s", "n", "t", "e", "a", "h")):
        return word
    if word in _plurals():
        return _plurals()[word]
    if not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zzes")):
        return word[:-2]
    return word[:-1]


@lru_cache(maxsize=65536)
def lemma(word: str) -> str:
    """The dictionary form of one English word, lowercase: "placing" → "place", "knives" → "knife"."""
    word = word.lower().replace("’", "'")
    for ending in ("'s", "'"):
        word = word.removesuffix(ending)
    if word in ("am", "is", "are", "was", "were", "'m", "'re"):
        return "be"
    plural = _plurals().get(word)
    if plural is not None:
        return plural
    if word in word_list("invariable") or word in ("ground", "thing", "evening", "morning", "ceiling"):
        return word
    found = verb_forms(word)
    for base, tags in found:
        if "b" in tags:
            return base
    return found[0][0] if found else singular(word)


def content_lemmas(text: str) -> list[str]:
    """The words of a text that carry meaning, as lemmas, in order; for matching questions to evidence."""
    stop = word_list("stopwords")
    found: list[str] = []
    before = ""
    for token in _TOKEN.findall(text):
        low = token.lower().replace("’", "'")
        base = low.split("'")[0]
        if low not in stop and base not in stop and base not in ("don", "doesn", "didn", "isn", "can't"):
            found.append(base if base == "left" and _is_side(before) else lemma(base))
        before = low
    return found


def _is_side(before: str) -> bool:
    """Whether "left" after this word is the side and not the past of "leave"."""
    return before in word_list("possessives") or before in ("the", "to", "turn", "turned", "turning", "and", "or")
