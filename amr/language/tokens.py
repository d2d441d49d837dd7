"""Text → sentences → tokens, with contractions taken apart and set phrases ("next to") joined."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from amr.language.lemmas import word_list

_SENTENCE_END = re.compile(r"(?<=[.!?;。！？；…])[\"”')\]]*\s+|(?<=[。！？；])|\n+|(?<=[a-z][.!?])(?=[A-Z][a-z])")
_TOKEN = re.compile(
    r"[^\W_]+?(?=n['’]t\b)|n['’]t\b|['’](?:s|m|re|ve|ll|d)\b"
    r"|[^\W_]+(?:[-&/.][^\W_]+)*|[,:;!?.…—–()\[\]\"“”。，！？；：、]",
    re.IGNORECASE,
)
_JOINED = ("spatial", "other_prepositions", "adverbs", "negations", "directions", "objects", "compounds")
_VAGUE = ("a-bit", "a-little", "a-lot", "a-few-times")


@dataclass(frozen=True)
class Sentence:
    """A sentence as parallel lists: words as written, lowercase, and their character spans in `text`."""

    text: str
    words: list[str]
    low: list[str]
    spans: list[tuple[int, int]]

    def slice(self, start: int, end: int) -> str:
        """The text from token `start` up to token `end`, as written."""
        return self.text[self.spans[start][0] : self.spans[end - 1][1]] if end > start else ""


def sentences(text: str) -> list[str]:
    """The sentences of a text, with their punctuation."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


@cache
def _phrases() -> dict[str, list[tuple[str, ...]]]:
    found: dict[str, list[tuple[str, ...]]] = {}
    for name in _JOINED:
        for entry in word_list(name):
            parts = tuple(entry.split("-"))
            if len(parts) > 1:
                found.setdefault(parts[0], []).append(parts)
    return {first: sorted(options, key=lambda parts: (-len(parts), parts)) for first, options in found.items()}


@cache
def _function_words() -> frozenset[str]:
    names = ("spatial", "other_prepositions", "subordinators", "adverbs", "directions")
    return frozenset().union(*(word_list(name) for name in names)) | {"and", "but", "or", ",", ".", "!", ";"}


@lru_cache(maxsize=64)
def tokenise(text: str) -> Sentence:
    """The tokens of one sentence: "Don't" gives "Do" + "n't", "next to" is one token."""
    words: list[str] = []
    low: list[str] = []
    spans: list[tuple[int, int]] = []
    for found in _TOKEN.finditer(text):
        word = found[0]
        words.append(word)
        low.append(word.lower().replace("’", "'") if word[0].isalnum() or len(word) > 1 else word)
        spans.append(found.span())
    return _join(Sentence(text, words, low, spans))


def _join(plain: Sentence) -> Sentence:
    phrases = _phrases()
    words: list[str] = []
    low: list[str] = []
    spans: list[tuple[int, int]] = []
    index, count = 0, len(plain.low)
    while index < count:
        length = _phrase_length(plain.low, index, phrases.get(plain.low[index], ()))
        end = index + length
        if length > 1:
            low.append("-".join(plain.low[index:end]))
            words.append(plain.slice(index, end))
            spans.append((plain.spans[index][0], plain.spans[end - 1][1]))
        else:
            low.append(plain.low[index])
            words.append(plain.words[index])
            spans.append(plain.spans[index])
        index = end
    return Sentence(plain.text, words, low, spans)


def _phrase_length(low: list[str], index: int, options: list[tuple[str, ...]] | tuple[tuple[str, ...], ...]) -> int:
    for parts in options:
        end = index + len(parts)
        if tuple(low[index:end]) != parts:
            continue
        following = low[end] if end < len(low) else "."
        # "a little" is an amount of doing, but "a little girl" and "a bit of salt" are things
        if ("-".join(parts) in _VAGUE and following not in _function_words()) or following == "of":
            continue
        return len(parts)
    return 1
