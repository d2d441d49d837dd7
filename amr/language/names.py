"""Names of people and things: who speaks, what a thing is called in look-ups, the handle of both."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from amr.language.lemmas import singular, verb_forms, word_list

_SPEAKER = re.compile(r"\s*([^\s:：\d][^:：\n]{0,39}?)\s*[:：](?!//)\s*(\S.*)", re.DOTALL)
_NAME_WORD = re.compile(r"[^\W\d_][^\W_]*(?:[.'’\-][^\W_]*)*\.?|\d{1,2}|[A-Z]\d{0,2}")
_WORD = re.compile(r"[^\W_]+(?:[-&'’][^\W_]+)*")


def split_speaker(text: str) -> tuple[str | None, str]:
    """The speaker and the words of a cue "Name: words"; no speaker where the cue names none."""
    found = _SPEAKER.fullmatch(text)
    if found is None:
        return None, text.strip()
    name, rest = found[1].strip(), found[2].strip()
    words = name.split()
    if not 1 <= len(words) <= 4 or not all(_NAME_WORD.fullmatch(word.strip("()")) for word in words):
        return None, text.strip()
    letters = [word for word in words if word[0].isalpha()]
    spoken = all(not word.isascii() or word[0].isupper() for word in letters)
    single = len(words) == 1 and words[0].isascii() and words[0].lower() not in word_list("stopwords")
    if not (spoken or single) or words[0].lower() in word_list("no_speakers"):
        return None, text.strip()
    if words[0].lower() in word_list("stopwords") and words[0] != "I":
        return None, text.strip()
    return name, rest


@lru_cache(maxsize=65536)
def is_name(word: str) -> bool:
    """Whether a word inside a sentence reads as the name of a person."""
    if len(word) < 2 or not (word[0].isupper() or (word[0].isalpha() and word[0].lower() == word[0].upper())):
        return False
    low = word.lower()
    return low not in word_list("not_persons") and not (word.isupper() and word.isascii())


def is_place(name: str) -> bool:
    """Whether a look-up name is a room or an area rather than an object."""
    return name.replace(" ", "-") in word_list("rooms") or name.rsplit(" ", 1)[-1] in word_list("rooms")


def owner(name: str) -> str:
    """Whose a thing is as its name says: "her" in "her phone", "Lucia" in "Lucia's phone"; empty if mine or unsaid."""
    words = name.split()
    for word in words:
        if word.lower() in ("his", "her", "their", "its", "your"):
            return word.lower()
        if word.endswith(("'s", "’s")):
            return word[:-2]
    return ""


@lru_cache(maxsize=65536)
def normalise_object(name: str) -> str:
    """The look-up form of an object's name: lowercase, singular, no articles, owners, numbers or amounts.

    "my phones" → "phone", "a pair of scissors" → "scissors", "the lid of the box" → "lid".
    """
    words = _WORD.findall(unicodedata.normalize("NFC", name).replace("’", "'"))
    low = [word.lower() for word in words]
    if len(low) == 1:
        return "wearer" if low[0] in ("me", "myself") else singular(low[0])
    start = 0
    for index, word in enumerate(low[:-1]):
        if word.endswith("'s"):
            start = index + 1
    low = low[start:]
    while len(low) > 1 and _is_determiner(low[0]):
        low = low[1:]
    while "of" in low[1:-1]:
        cut = low.index("of", 1)
        if singular(low[cut - 1]) not in word_list("amounts"):
            low = low[:cut]
            break
        low = low[cut + 1 :]
        while len(low) > 1 and (_is_determiner(low[0]) or low[0].endswith("'s")):
            low = low[1:]
    return " ".join([*low[:-1], singular(low[-1])]) if low else ""


def _is_determiner(word: str) -> bool:
    return word in word_list("determiners") or word in ("of", "little", "quick") or word.isdigit()


@lru_cache(maxsize=65536)
def handle(name: str) -> str:
    """The stable handle of a person or thing: "girl in black hoodie" → "girl_black_hoodie"."""
    words = [word.lower() for word in _WORD.findall(unicodedata.normalize("NFC", name))]
    kept = [re.sub(r"['’]s$", "", word) for word in words]
    tin = len(kept) > 1 and kept[-1] == "can"  # "trash can": a thing, not the verb
    meaning = [word for word in kept if word not in word_list("stopwords") and word not in ("one", "with")]
    meaning += ["can"] if tin else []
    return "_".join(re.sub(r"[^\w]+", "_", word) for word in meaning or kept)


def may_open_as_name(word: str) -> bool:
    """Whether the capitalised first word of a sentence may be a name: no word that sentences open with."""
    low = word.lower()
    return is_name(word) and not any(low in word_list(name) for name in _COMMON) and not verb_forms(low)


_COMMON = (
    "stopwords", "determiners", "subjects", "objects", "spatial", "other_prepositions", "subordinators",
    "conditional", "directions", "adverbs", "hedges", "negations", "interjections", "auxiliaries",
    "question_words", "person_nouns", "body_parts", "bare_things", "time_nouns",
)  # fmt: skip
