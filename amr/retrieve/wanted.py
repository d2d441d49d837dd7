"""The thing that a "where" question looks for: its name, whose it is, what is in it, and what it is together with."""

from __future__ import annotations

import re
from dataclasses import dataclass

from amr.language.lemmas import word_list
from amr.language.names import handle, is_name, normalise_object

_WORD = re.compile(r"[^\W_]+(?:[’'\-][^\W_]+)*|[,;.?!]")
_OWNERS = frozenset(("my", "our", "his", "her", "their", "your"))
_OPENING = _OWNERS | {"the", "a", "an", "those", "these", "that", "this", "both", "all", "some", "any"}
_NUMBERS = frozenset(("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "both"))
_WITHIN = re.compile(r"^.*?\bwith (?:the |my |some |all )?(?P<thing>[a-z]+(?: [a-z]+)?) (?:in|inside)\b", re.IGNORECASE)
_PREPOSITIONS = word_list("spatial") | word_list("other_prepositions")
_NO_THINGS = frozenset(("place", "location", "spot", "way", "whereabout"))
_ENDS = (
    frozenset(("i", "we", "you", "he", "she", "they", "it", "who", "which", "that", "whose", "when", "where", "what"))
    | frozenset(("and", "or", "but", "so", "now", "again", "last", "first", "just", "today", "yesterday", "tonight"))
    | frozenset(("be", "been", "end", "ended", "go", "gone", "went", "right", "away", "earlier", "ago", "then"))
    | (word_list("directions") - {"left", "right", "back", "front"})
    | _OPENING
    | word_list("auxiliaries")
    | _PREPOSITIONS
)


@dataclass(frozen=True)
class Wanted:
    """A thing as a question names it, in look-up form.

    `owner` is "my", "lucia" or ""; `content` is "salt" for "the bag of salt" and "the bag with the salt in it";
    `others` are the things it is with: "cable" for "the power bank and the cable"; `number` is "two" for "two boxes".
    """

    name: str = ""
    owner: str = ""
    content: str = ""
    others: tuple[str, ...] = ()
    number: str = ""


def wanted(text: str) -> Wanted:
    """The thing that a question looks for; without a name where it names none after an article or an owner."""
    words = _WORD.findall(text)
    starts = [index for index in range(len(words)) if _opens(words, index)]
    free = [index for index in starts if index == 0 or words[index - 1].lower() not in _PREPOSITIONS]
    for start in [*free, *starts]:
        end = _end(words, start + 1)
        name = normalise_object(" ".join(words[start + 1 : end]))
        if name and name not in word_list("stopwords") | word_list("time_nouns") | _NO_THINGS:
            content, others = _rest(words, end)
            number = next((word.lower() for word in words[start : start + 2] if word.lower() in _NUMBERS), "")
            return Wanted(name, _owner(words[start]), content or _within(words[end:]), others, number)
    return Wanted()


def _opens(words: list[str], index: int) -> bool:
    word = words[index].replace("’", "'")
    whose = word.endswith("'s") and is_name(word[:-2]) and word[:-2].lower() not in word_list("question_words")
    return index + 1 < len(words) and (word.lower() in _OPENING or whose)


def _within(words: list[str]) -> str:
    """What is in the thing: "salt" of what follows in "the bag with the salt in it"."""
    found = _WITHIN.match(" ".join(words)) if words[:1] == ["with"] else None
    return normalise_object(found["thing"]) if found else ""


def _owner(word: str) -> str:
    low = word.lower().replace("’", "'")
    if low in ("my", "our"):
        return "my"
    return handle(low[:-2]) if low.endswith("'s") else low if low in _OWNERS else ""


def _end(words: list[str], index: int) -> int:
    """Where the name of a thing ends that has begun before `index`."""
    start = index
    while index < len(words):
        word = words[index]
        named = index > start and is_name(word) and word[0].isupper()
        if not word[0].isalnum() or word.lower() in _ENDS or named:
            break
        index += 1
    return index


def _rest(words: list[str], index: int) -> tuple[str, tuple[str, ...]]:
    """What follows the name: "of salt", "and the cable"."""
    content, others = "", []
    while index + 1 < len(words) and words[index].lower() in ("of", "and"):
        start = index + 1 + (words[index + 1].lower() in _OPENING)
        end = _end(words, start)
        name = normalise_object(" ".join(words[start:end]))
        if not name:
            break
        if words[index].lower() == "of":
            content = name
        else:
            others.append(name)
        index = end
    return content, tuple(others)
