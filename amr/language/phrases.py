"""Noun phrases in a tokenised sentence: where one starts and ends, and what kind of thing it names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from amr.language.lemmas import singular, verb_forms, verbs, word_list
from amr.language.names import is_name, may_open_as_name
from amr.language.tokens import Sentence

Role = Literal["subject", "object"]

PUNCTUATION = frozenset(',:;!?.…—–()[]"“”。，！？；：、')
CONJUNCTIONS = frozenset({"and", "or", "but", "&", "plus", "nor", "yet"})
_DIRECT = frozenset({"left", "right", "front", "back", "inside", "outside", "home", "middle", "opposite"})
_PLURAL_SUBJECTS = frozenset({"i", "you", "we", "they", "everyone", "everybody", "others", "people", "who", "these"})


@cache
def lists(*names: str) -> frozenset[str]:
    """The union of several word lists."""
    return frozenset().union(*(word_list(name) for name in names))


@cache
def pronouns() -> frozenset[str]:
    """Subject and object pronouns."""
    return lists("subjects", "objects")


@cache
def function_words() -> frozenset[str]:
    """Words that no noun phrase holds after its determiner."""
    names = ("spatial", "other_prepositions", "subordinators", "conditional", "directions", "particles")
    more = ("adverbs", "hedges", "negations", "auxiliaries", "question_words", "subjects", "objects", "determiners")
    return lists(*names, *more) | CONJUNCTIONS | PUNCTUATION | {"'s", "that", "than", "let", "to"}


@cache
def is_adverb(word: str) -> bool:
    """Whether a word says how, when or how often: a listed one, or one in -ly that is no known noun or adjective."""
    if word in word_list("adverbs"):
        return True
    return word.endswith("ly") and len(word) > 4 and word not in word_list("no_adverbs") and not verb_forms(word)


@dataclass(frozen=True)
class Phrase:
    """A noun phrase: tokens from `start` to before `end`; `head` is its last word (before "of") in lowercase."""

    start: int
    end: int
    kind: Literal["pronoun", "name", "person", "body", "thing"]
    head: str
    determined: bool

    @property
    def animate(self) -> bool:
        """Whether it stands for somebody."""
        return self.kind in ("name", "person") or (
            self.kind == "pronoun" and self.head not in word_list("thing_pronouns")
        )


class Nouns:
    """The noun phrases of one sentence, each parsed once."""

    def __init__(self, sentence: Sentence) -> None:
        self.words = sentence.words
        self.low = sentence.low
        self.count = len(sentence.low)
        self._known: dict[tuple[int, Role], Phrase | None] = {}

    def at(self, index: int, role: Role = "object") -> Phrase | None:
        """The noun phrase that starts at a token, or None."""
        key = (index, role)
        if key not in self._known:
            self._known[key] = self._parse(index, role) if index < self.count else None
        return self._known[key]

    def word(self, index: int) -> str:
        """The lowercase token at an index; empty outside the sentence."""
        return self.low[index] if 0 <= index < self.count else ""

    def is_noun(self, index: int) -> bool:
        """Whether a token may be a noun or describe one."""
        word = self.word(index)
        return bool(word) and word not in function_words()

    def is_possessive(self, index: int) -> bool:
        """Whether the "'s" at a token marks an owner rather than stands for "is" or "has"."""
        before, after = self.word(index - 1), self.word(index + 1)
        if before in pronouns() or before in ("here", "there", "let", "what", "where", "who", "how"):
            return before in ("everyone", "someone", "everybody", "somebody", "others") and self.is_noun(index + 1)
        if (
            not after
            or after in PUNCTUATION
            or (after in function_words() and after not in _DIRECT | {"own", "other", "two"})
        ):
            return False
        forms = verb_forms(after)
        if any("g" in tags for _, tags in forms):
            return (after in word_list("ing_modifiers") or after in word_list("ing_nouns")) and self._noun_or_end(
                index + 2
            )
        if any("n" in tags and "b" not in tags for _, tags in forms):
            return self.is_noun(index + 2)
        return after not in ("busy", "ready", "done", "about", "gone")

    def _noun_or_end(self, index: int) -> bool:
        return self.is_noun(index) and not self.word(index).endswith("ly")

    def _parse(self, index: int, role: Role) -> Phrase | None:
        low = self.low
        first = low[index]
        determiners = word_list("determiners")
        owns = first in pronouns() and self.word(index + 1) == "'s" and self.is_possessive(index + 1)
        if first in pronouns() and not owns and not (first in determiners and self._describes(index + 1)):
            return self._pronoun(index)
        start = index + 2 if owns else index
        while start < self.count and (low[start] in determiners or low[start].isdigit()):
            start += 1
            if self.word(start) == "of" and low[start - 1] in ("all", "both", "some", "each", "half", "many", "most"):
                start += 1
        determined = start > index
        end = self._words(start, determined, role)
        if end == start:
            last = low[start - 1]  # "another", "the two" stand alone; "my" and "the" do not
            bare = determined and last not in word_list("possessives") and last not in ("a", "an", "the", "no", "of")
            return self._alone(index, start) if bare else None
        head = end - 1
        owned = "'s" in low[start:end]
        if self.word(end) == "of":
            complement = self.at(end + 1, "object")
            end = complement.end if complement else end
        return Phrase(index, end, self._kind(start, head, determined or owned), low[head], determined or owned)

    def _alone(self, index: int, end: int) -> Phrase:
        """A determiner without a noun, such as "two of them"."""
        head = self.low[end - 1]
        complement = self.at(end + 1, "object") if self.word(end) == "of" else None
        return Phrase(index, complement.end if complement else end, "pronoun", head, True)

    def _pronoun(self, index: int) -> Phrase:
        end = index + 1
        if self.word(end) == "of":
            complement = self.at(end + 1, "object")
            end = complement.end if complement else end
        return Phrase(index, end, "pronoun", self.low[index], False)

    def _describes(self, index: int) -> bool:
        """Whether a determiner before this token has a noun to go with."""
        word = self.word(index)
        if not word or (word in function_words() and word not in _DIRECT and word not in word_list("determiners")):
            return False
        if self.word(index - 1) in ("another", "each", "his"):
            return True
        if word in word_list("determiners"):
            return word in ("one", "two") or self._describes(index + 1)
        forms = verb_forms(word)
        if not forms or word in verbs().often_nouns or word in word_list("ing_nouns"):
            return True
        if any("s" in tags and base in verbs().often_nouns for base, tags in forms):
            return True
        return self.is_noun(index + 1) and any(tag in tags for _, tags in forms for tag in "ng")

    def _words(self, start: int, determined: bool, role: Role) -> int:
        index = start
        while index < self.count:
            word = self.low[index]
            if word == "'s":
                if index == start or not self.is_possessive(index):
                    break
                determined, start = True, index + 1
                while self.word(start) in ("own", "other", "two", "first", "last"):
                    start += 1
                index = start
                continue
            if not self._accepts(index, start, determined, role):
                break
            index += 1
        return index

    def _accepts(self, index: int, start: int, determined: bool, role: Role) -> bool:
        word = self.low[index]
        opening = index == start
        if word in function_words() or is_adverb(word):
            return self._accepts_function(index, opening, determined)
        capital = is_name(self.words[index]) and (index > 0 or may_open_as_name(self.words[index]))
        if not opening and not determined and is_name(self.words[index - 1]) and is_name(self.words[start]):
            return capital  # a name ends where the capitals end
        if capital:
            return opening or self.words[index - 1][0].isupper() or determined
        forms = verb_forms(word)
        return not forms or self._accepts_verb(index, opening, determined, role, forms)

    def _accepts_function(self, index: int, opening: bool, determined: bool) -> bool:
        word = self.low[index]
        if word in _DIRECT and determined:
            return opening or self.low[index - 1] in _DIRECT or self.low[index - 1] in ("top", "bottom", "far")
        if word in _DIRECT and opening and word in ("left", "right", "front", "back"):
            return self.word(index + 1) in word_list("body_parts")
        if word == "one":
            return determined
        if word == "can":  # "the trash can", but not "the man can sing"
            after = verb_forms(self.word(index + 1))
            modal = opening and self.word(index - 1) not in ("the", "a", "my")  # "this can …", but "the can"
            return determined and not modal and not after and self.word(index + 1) not in ("not", "n't", "be")
        describes = word in ("own", "other", "two", "first", "next", "last", "more") or is_adverb(word)
        after_noun = self.is_noun(index + 1) and (
            not verb_forms(self.word(index + 1)) or "b" in self.tags(index + 1) or self._describes(index + 1)
        )
        return describes and determined and opening and after_noun

    def _accepts_verb(
        self, index: int, opening: bool, determined: bool, role: Role, forms: tuple[tuple[str, str], ...]
    ) -> bool:
        word = self.low[index]
        tags = "".join(found for _, found in forms)
        if word in word_list("ing_nouns") or (word in verbs().often_nouns and "b" not in tags):
            return True
        after_noun = self.is_noun(index + 1)
        person_before = not opening and singular(self.low[index - 1]) in word_list("person_nouns")
        if "g" in tags:
            return after_noun and (word in word_list("ing_modifiers") or (opening and determined))
        if "b" in tags:
            if word in verbs().often_nouns:
                return not (person_before and not self._ends_clause(index + 1))
            if opening or person_before:
                return opening and determined
            acts = self.word(index + 1) in word_list("determiners") or self.word(index + 1) in word_list("objects")
            return determined and not acts if role == "object" else self._finite_word(index + 1)
        if "s" in tags:
            if opening:
                return determined or role == "object"
            if person_before:
                return False
            return role == "object" or self._finite_word(index + 1)
        return opening and after_noun and (determined or role == "object")

    def _ends_clause(self, index: int) -> bool:
        return not self.word(index) or self.word(index) in word_list("auxiliaries")

    def _finite_word(self, index: int) -> bool:
        word = self.word(index)
        return word in word_list("auxiliaries") or any("p" in tags or "s" in tags for _, tags in verb_forms(word))

    def _kind(self, start: int, head: int, determined: bool) -> Literal["name", "person", "body", "thing"]:
        word = singular(self.low[head])
        if word in word_list("person_nouns"):
            return "person"
        if is_name(self.words[head]) and (head > 0 or may_open_as_name(self.words[head])):
            return "name"
        return "body" if word in word_list("body_parts") else "thing"

    def is_plural(self, phrase: Phrase) -> bool:
        """Whether a subject takes a verb without -s."""
        return phrase.head in _PLURAL_SUBJECTS or (phrase.kind != "pronoun" and singular(phrase.head) != phrase.head)

    def is_gerund_noun(self, index: int) -> bool:
        """Whether an -ing word describes the noun after it: "charging cable"."""
        word, after = self.word(index), self.word(index + 1)
        return word in word_list("ing_modifiers") and after in word_list("with_ing")

    def is_argument(self, index: int) -> bool:
        """Whether an object that cannot be half of a compound noun starts here."""
        word = self.word(index)
        if (
            word in word_list("determiners")
            or word in word_list("objects")
            or word == "to"
            or word in word_list("spatial")
        ):
            return True
        phrase = self.at(index)
        return phrase is not None and (phrase.kind in ("name", "pronoun") or phrase.determined)

    def skip_adverbs(self, index: int) -> int:
        """The first token from an index on that is no adverb."""
        while is_adverb(self.word(index)) or self.word(index) in ("both", "all", "each"):
            index += 1
        return index

    def tags(self, index: int) -> str:
        """The tags of every verb form that a token may be; see `lemmas.Form`."""
        return "".join(found for _, found in verb_forms(self.word(index)))

    def is_gerund(self, index: int) -> bool:
        """Whether a token is a verb in -ing rather than a noun."""
        word = self.word(index)
        if "g" not in self.tags(index) or self.is_gerund_noun(index):
            return False
        return word not in word_list("ing_nouns") or self.is_argument(index + 1)

    def is_base(self, index: int) -> bool:
        """Whether a token may be a verb without an ending."""
        return "b" in self.tags(index) or self.word(index) == "be"
