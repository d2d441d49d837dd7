"""Words → what they say was done: actions, objects and persons of captions, narrations and speech.

Rules and word lists only, so it needs no model and no download. It reads English; other languages give an
empty reading. What is wished, asked, denied or ordered is not an action, and what is only meant or refers to
something said before ("it") is reported as not certain.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from amr.language.clause import Clauses
from amr.language.deeds import Deed, Namer
from amr.language.lemmas import verbs, word_list
from amr.language.names import is_place, normalise_object
from amr.language.phrases import PUNCTUATION, Nouns, Phrase, lists
from amr.language.subjects import opens_with_verb
from amr.language.terse import told_in_full
from amr.language.tokens import Sentence, sentences, tokenise
from amr.records import WEARER, Action, ObjectReport

Mood = Literal["statement", "question", "wish", "negation", "command", "other"]

_INVERTED = frozenset(
    [
        "is",
        "are",
        "was",
        "were",
        "am",
        "do",
        "does",
        "did",
        "have",
        "has",
        "can",
        "could",
        "will",
        "would",
        "shall",
        "should",
        "may",
        "must",
    ]
)
_SUBJECTS = frozenset(
    [
        "i",
        "you",
        "he",
        "she",
        "it",
        "we",
        "they",
        "this",
        "that",
        "these",
        "those",
        "there",
        "anyone",
        "someone",
        "everyone",
    ]
)
_MAX_TOKENS = 200


_READINGS_KEPT = 16_384


@dataclass(frozen=True)
class Reading:
    """What a text says; equal texts share one, which is not to be changed.

    `certain` is false if any action in it was only meant or names something unresolved.
    `narration` is true when the text is the wearer's own account rather than speech.
    """

    actions: list[Action]
    objects: list[ObjectReport]
    persons: list[str]
    certain: bool
    mood: Mood
    narration: bool


@lru_cache(maxsize=_READINGS_KEPT)
def read_sentence(text: str, speaker: str | None = None) -> Reading:
    """What a caption or utterance says; without a speaker it is taken as narration if it reads like one."""
    narration = speaker is None and is_narration(text)
    me = speaker or WEARER
    deeds: list[Deed] = []
    objects: dict[str, ObjectReport] = {}
    persons: dict[str, None] = {}
    moods: list[Mood] = []
    hedged = False
    for part in sentences(text):
        sentence = tokenise(part)
        if speaker is None:
            sentence = told_in_full(sentence)
        if not sentence.low or len(sentence.low) > _MAX_TOKENS:
            continue
        nouns = Nouns(sentence)
        found, mood = _read(sentence, nouns, me, speaker is None)
        deeds += found
        hedged = hedged or any(word in word_list("hedges") for word in sentence.low)
        moods.append(mood)
        _mention(sentence, nouns, found, me, objects, persons)
    actions = [
        Action(actor=deed.actor, verb=deed.verb, object=deed.object, spatial_relation=deed.place) for deed in deeds
    ]
    certain = all(deed.certain for deed in deeds) and not (deeds and hedged)
    return Reading(actions, list(objects.values()), list(persons), certain, _mood(moods), narration)


def _mood(moods: list[Mood]) -> Mood:
    if "statement" in moods:
        return "statement"
    return next((mood for mood in moods if mood != "other"), "other")


def _read(sentence: Sentence, nouns: Nouns, me: str, narrated: bool) -> tuple[list[Deed], Mood]:
    if _is_question(sentence):
        return [], "question"
    if _is_foreign(sentence.text):
        return [], "other"
    clauses = Clauses(sentence, nouns, Namer(sentence, me, narrated), narrated)
    clauses.read()
    if clauses.deeds:
        return clauses.deeds, "statement"
    if clauses.command:
        return [], "command"
    if clauses.wish:
        return [], "wish"
    if any(word in word_list("negations") for word in sentence.low):
        return [], "negation"
    return [], "statement" if _states(sentence) else "other"


def _is_foreign(text: str) -> bool:
    """Whether most of a text is written in another script than Latin."""
    if text.isascii():
        return False
    letters = [char for char in text if char.isalpha()]
    return 2 * sum(char > "\u024f" for char in letters) > len(letters)


def _states(sentence: Sentence) -> bool:
    """Whether a sentence without actions still says something: it has a helper verb."""
    return any(word in word_list("auxiliaries") for word in sentence.low)


def _is_question(sentence: Sentence) -> bool:
    low = sentence.low
    if any(mark in low for mark in ("?", "？")) or sentence.text.rstrip("\"”')]. ").endswith(("?", "？")):
        return True
    start = 0
    while start < len(low) and (low[start] in word_list("interjections") or low[start] in ("and", "but", "then", ",")):
        start += 1
    first = low[start] if start < len(low) else ""
    second = low[start + 1] if start + 1 < len(low) else ""
    asks = first in word_list("question_words") or first in ("when",)
    if asks and (second in word_list("auxiliaries") or second in ("n't",)):
        return True
    return first in _INVERTED and (second in _SUBJECTS or second == "n't")


def is_narration(text: str) -> bool:
    """Whether a text without a speaker's name is the wearer's narration: first person or verb first."""
    parts = sentences(text)
    if not parts:
        return False
    sentence = tokenise(parts[0])
    if not sentence.low or _is_foreign(sentence.text) or _is_question(sentence):
        return False
    low = [word for word in sentence.low if word not in PUNCTUATION]
    start = 0
    while start < len(low) and (low[start] in lists("interjections", "adverbs") or low[start] in ("and", "but")):
        start += 1
    if start >= len(low):
        return False
    first = low[start]
    if first in ("i", "we", "my", "our") or "i" in low[start : start + 6] or "my" in low[start : start + 6]:
        return True
    return opens_with_verb(Nouns(sentence))


def _mention(
    sentence: Sentence,
    nouns: Nouns,
    deeds: list[Deed],
    me: str,
    objects: dict[str, ObjectReport],
    persons: dict[str, None],
) -> None:
    """Collect the people and things that a sentence names, acted on or not."""
    namer = Namer(sentence, me, True)
    places = {deed.object: deed.place for deed in reversed(deeds)}
    if any(word in ("i", "my", "me", "mine") for word in sentence.low):
        persons.setdefault(me)
    index = 0
    while index < nouns.count:
        phrase = nouns.at(index)
        if phrase is None or phrase.end <= index:
            index += 1
            continue
        text = namer.text(phrase)
        if phrase.kind in ("name", "person"):
            persons.setdefault(text)
        elif _is_object(phrase, text, places):
            objects.setdefault(
                normalise_object(text), ObjectReport(name=text, spatial_description=places.get(text, ""))
            )
        index = phrase.end


def _is_object(phrase: Phrase, text: str, places: dict[str, str]) -> bool:
    if phrase.kind != "thing" or not (phrase.determined or text in places):
        return False
    name = normalise_object(text)
    head = name.rsplit(" ", 1)[-1]
    return (
        bool(name) and not is_place(name) and head not in word_list("time_nouns") and head not in verbs().light
    ) or text in places
