"""What the reader of a sentence reports, and by which words it names who did it and to what."""

from __future__ import annotations

from dataclasses import dataclass

from amr.language.lemmas import word_list
from amr.language.phrases import Phrase
from amr.language.tokens import Sentence

_ARTICLES = (word_list("determiners") - {"his", "her", "their", "your", "its"}) | {"of"}
_NOMINATIVE = {"him": "he", "them": "they", "her": "she"}
_SELF = frozenset({"me", "myself", "us", "i", "we"})


@dataclass(frozen=True)
class Deed:
    """One action as read: texts verbatim, `certain` false when it was only meant, inferred or unresolved."""

    actor: str
    verb: str
    object: str
    place: str
    certain: bool


@dataclass(frozen=True)
class Namer:
    """Names the phrases of one sentence. `me` is who "I" is; `narrated`: "the hand" is the narrator's own."""

    sentence: Sentence
    me: str
    narrated: bool

    def actor(self, phrase: Phrase | None) -> str:
        """Who a subject stands for; empty for a thing. A body part acts for its owner, no subject is `me`."""
        if phrase is None or (phrase.kind == "pronoun" and phrase.head in _SELF):
            return self.me
        if phrase.kind == "body":
            return self._owner(phrase)
        if not phrase.animate:
            return ""
        single = phrase.kind == "pronoun" and phrase.end == phrase.start + 1
        return _NOMINATIVE.get(phrase.head, phrase.head) if single else self.text(phrase)

    def _owner(self, phrase: Phrase) -> str:
        words = self.sentence.low[phrase.start : phrase.end]
        if words[0] in ("my", "our"):
            return self.me
        if "'s" in words:
            return self.sentence.slice(phrase.start, phrase.start + words.index("'s"))
        owner = {"his": "he", "her": "she", "their": "they", "your": "you"}.get(words[0], "")
        return owner or (self.me if self.narrated else "")

    def text(self, phrase: Phrase) -> str:
        """A phrase as written, without its article or "my"; "me" is whoever speaks."""
        if phrase.kind == "pronoun" and phrase.head in _SELF:
            return self.me
        start = phrase.start
        if phrase.kind == "pronoun":  # "the two of them"
            return self.sentence.slice(start + (self.sentence.low[start] == "the"), phrase.end)
        while start < phrase.end - 1 and self.sentence.low[start] in _ARTICLES:
            start += 1
        return self.sentence.slice(start, phrase.end)


def is_unresolved(phrase: Phrase | None) -> bool:
    """Whether a phrase refers to something said before, such as "it"."""
    return phrase is not None and phrase.kind == "pronoun" and phrase.head in word_list("unresolved")
