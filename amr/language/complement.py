"""What follows a verb: its particle, objects and places, and where the next clause inside it begins."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from amr.language.lemmas import singular, verb_forms, verb_list, verbs, word_list
from amr.language.phrases import CONJUNCTIONS, PUNCTUATION, Nouns, Phrase, is_adverb, lists
from amr.language.subjects import find_subject
from amr.language.tokens import Sentence

Inner = Literal["", "small clause", "gerund", "purpose", "relative", "drop"]

_PERSONAL = frozenset(["i", "he", "she", "we", "they", "you"])


@dataclass
class Complement:
    """The words after a verb. `end` is the first token not read; `inner` says what kind of clause starts there."""

    verb: str
    end: int
    objects: list[Phrase] = field(default_factory=list)
    nouns: list[Phrase] = field(default_factory=list)
    place: str = ""
    first_place: int = -1
    agent: Phrase | None = None
    certain: bool = True
    reported: bool = False
    inner: Inner = ""


def read_complement(
    sentence: Sentence, nouns: Nouns, verb: str, start: int, tags: str, passive: bool = False
) -> Complement:
    """Read what belongs to `verb` from token `start` on; `tags` are the forms its own token may be."""
    reader = _Reader(sentence, nouns, verb, start, tags, passive)
    reader.run()
    return reader.result()


class _Reader:
    def __init__(self, sentence: Sentence, nouns: Nouns, verb: str, start: int, tags: str, passive: bool) -> None:
        self.passive = passive
        self.sentence, self.nouns = sentence, nouns
        self.base, self.tags, self.at = verb, tags, start
        self.particle, self.preposition = "", ""
        self.pieces: list[tuple[int, int]] = []
        self.recipient = ""
        self.out = Complement(verb, start)

    # --- the loop -------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Read token by token until something starts that is not this verb's."""
        while self.at < self.nouns.count:
            before = self.at
            if not self._step(self.nouns.word(before)):
                break
            if self.at == before:
                self.at += 1

    def _step(self, word: str) -> bool:
        nouns = self.nouns
        if word in PUNCTUATION or word in word_list("subordinators") or word in word_list("conditional"):
            return word == '"' or (word == "as" and self._comparison())
        if word in CONJUNCTIONS:
            return self._joins_places()
        if word in word_list("hedges"):
            self.out.certain = False
            return True
        if word in word_list("negations"):
            return self._stop("drop")
        if word == "that" and nouns.at(self.at) is not None and self._clause_at(self.at + 1):
            return self._that()
        if self._contact_clause():
            return False
        if word == "to":
            return self._to()
        if word in word_list("directions") and self._direction(word):
            return True
        if word in word_list("particles") or word in word_list("spatial"):
            return self._particle_or_place(word)
        if word in word_list("other_prepositions"):
            return self._other(word)
        if is_adverb(word):
            return True
        if word in word_list("question_words"):
            return self._question_word(word)
        return self._noun_or_verb(word)

    def _stop(self, inner: Inner) -> bool:
        self.out.inner = inner
        return False

    def _joins_places(self) -> bool:
        """ "forward and to the left": one run of places."""
        after = self.nouns.word(self.at + 1)
        ends_here = bool(self.pieces) and self.pieces[-1][1] == self.at
        spatial = after in word_list("spatial") and after not in word_list("particles")
        if not ends_here or not spatial or self.nouns.at(self.at + 2) is None or self._purpose(self.at + 1):
            return False
        if self._clause_at(self.at + 2):
            return False
        self._piece(self.at, self.at + 1)
        return True

    def _comparison(self) -> bool:
        """ "as a gift": skip; "as he walked": stop."""
        if self._clause_at(self.at + 1) or "g" in self.nouns.tags(self.at + 1):
            return False
        phrase = self.nouns.at(self.at + 1)
        if phrase is not None:
            self.at = phrase.end
        return phrase is not None

    def _clause_at(self, index: int) -> bool:
        return find_subject(self.nouns, index) is not None

    def _verb(self) -> str:
        return " ".join(part for part in (self.base, self.particle, self.preposition) if part)

    # --- clauses inside -------------------------------------------------------------------------------------

    def _that(self) -> bool:
        if self.base in verb_list("report"):
            self.out.reported = True
            return False
        if self.base in verb_list("perception") and not self.out.objects:
            self.at += 1
            return False
        return self._stop("relative" if self.out.nouns else "drop")

    def _contact_clause(self) -> bool:
        """ "the bowl I was holding", "I think Lucia left": a clause without a joining word."""
        word = self.nouns.word(self.at)
        if word not in _PERSONAL and not (self.nouns.words[self.at][:1].isupper() or word in word_list("determiners")):
            return False
        if self.out.nouns and self.out.nouns[-1].end != self.at:
            return False
        if not self._clause_at(self.at):
            return False
        if self.base in verb_list("report") and self.base not in ("show", "read"):
            self.out.reported = True
            return True
        if self.base in verb_list("perception") and not self.out.objects:
            return word in _PERSONAL or self._finite_clause()
        if self.out.nouns and (word in _PERSONAL or self.nouns.words[self.at][:1].isupper()):
            if self.base == "be":
                self.out.inner = "drop"
            else:
                self.out.inner = "relative"
            return True
        return False

    def _finite_clause(self) -> bool:
        """Whether the clause here has a helper or past verb, so that it is no "Lucia cut the apple" of perception."""
        found = find_subject(self.nouns, self.at)
        return found is not None and self.nouns.word(found[1]) in word_list("auxiliaries")

    def _question_word(self, word: str) -> bool:
        if word == "who" and self.out.nouns:
            return False
        if word == "which" and self.out.nouns and self._clause_at(self.at + 1):
            return self._stop("relative")
        if self.base in verb_list("report"):
            self.out.reported = True
            return False
        return self._stop("drop")

    def _to(self) -> bool:
        nouns = self.nouns
        after = self.at + 1
        while nouns.word(after) in word_list("adverbs"):
            after += 1
        if "to" in self._selected() and not self.out.objects and nouns.at(self.at + 1) is not None:
            return self._selected_object("to")
        noun = nouns.at(self.at + 1)
        infinitive = "b" in self.nouns.tags(after) or nouns.word(after) == "be"
        if infinitive and (noun is None or nouns.word(after) not in word_list("determiners")):
            if (
                self.base in verb_list("report")
                and self.out.objects
                and self.base not in ("read", "show", "describe", "express")
            ):
                self.out.reported = True
                return False
            if noun is None or nouns.word(after) not in verbs().often_nouns or not self._alone(noun):
                return self._infinitive()
        if noun is None:
            return self._stop("drop")
        return self._place()

    def _alone(self, noun: Phrase) -> bool:
        """Whether a word that may be a verb is the whole noun phrase, with nothing after it for it to act on."""
        after = self.nouns.word(noun.end)
        return not after or after in PUNCTUATION or after in CONJUNCTIONS

    def _infinitive(self) -> bool:
        """ "…to look at it": a purpose, unless it tells what a thing is for."""
        objects = self.out.objects
        if objects and (objects[-1].head in word_list("open_things") or self._verb() in verb_list("seeking")):
            return self._stop("drop")
        if self.base in verb_list("wish") or self.base in ("want", "ask", "tell", "remind", "let", "allow", "seem"):
            return self._stop("drop")
        if self.base == "find" and not objects:
            return self._stop("drop")
        return self._stop("purpose")

    # --- particles and places -------------------------------------------------------------------------------

    def _selected(self) -> frozenset[str]:
        return verbs().selected.get(self.base, frozenset()) if not self.preposition else frozenset()

    def _selected_object(self, word: str) -> bool:
        phrases = self._joined(self.at + 1)
        if not phrases:
            return self._stop("drop") if word == "to" else True
        if word == "with" and phrases[0].kind == "body":
            self.at = phrases[-1].end
            return True
        self.preposition = word
        self.out.objects = phrases
        self.out.nouns += phrases
        self.at = phrases[-1].end
        return True

    def _direction(self, word: str) -> bool:
        nouns = self.nouns
        if word in ("left", "right", "front", "back", "home", "overhead") and nouns.word(self.at + 1) in word_list(
            "body_parts"
        ):
            return False
        if word in word_list("spatial") and nouns.at(self.at + 1) is not None and not self._clause_at(self.at + 1):
            return False
        if word in word_list("particles") and word in verbs().separable.get(self.base, frozenset()):
            return False
        if word == "away" and not self.particle:
            return False
        self._piece(self.at, self.at + 1)
        self.at += 1
        return True

    def _piece(self, start: int, end: int) -> None:
        if self.out.first_place < 0:
            self.out.first_place = start
        if self.pieces and self.pieces[-1][1] == start:
            self.pieces[-1] = (self.pieces[-1][0], end)
        else:
            self.pieces.append((start, end))

    def _particle_or_place(self, word: str) -> bool:
        nouns = self.nouns
        after = nouns.word(self.at + 1)
        noun = nouns.at(self.at + 1)
        if noun is not None and (after in _PERSONAL or self._is_clause_subject(noun)):
            noun = None
        separable = word in verbs().separable.get(self.base, frozenset()) and not self.particle
        free = word in word_list("particles") and not self.particle and self.base != "be"
        if noun is None:
            if free and not self._moves_over(word, after):
                self.particle = word
                self.at += 1
                return True
            return self._adverb_place(word)
        if word == "by" and self.passive:
            self.out.agent = noun
            self.at = noun.end
            return True
        if separable and not self.out.objects and not self._supported(word, noun):
            self.particle = word
            self.at += 1
            return True
        if word in self._selected() and not self.out.objects and not self._rests(word, noun):
            return self._selected_object(word)
        if word not in word_list("spatial"):
            if free:
                self.particle = word
            self.at += 1
            return True
        return self._place()

    def _is_clause_subject(self, noun: Phrase) -> bool:
        return (
            noun.kind == "name"
            and self._clause_at(self.at + 1)
            and self.nouns.word(noun.end) in word_list("auxiliaries")
        )

    def _supported(self, word: str, noun: Phrase) -> bool:
        """Whether "on X" is a place to put things: "put on the table", not "put on the slippers"."""
        puts = self.base in ("put", "get", "slide", "push", "press", "stick", "drop", "tuck", "add")
        return puts and word in ("on", "in", "over") and singular(noun.head) in word_list("supports")

    def _rests(self, word: str, noun: Phrase) -> bool:
        """Whether "on X" after a verb such as "press" or "work" is where, not what: "work on the sofa"."""
        return (
            word in ("on", "in") and self.base in ("work", "operate") and singular(noun.head) in word_list("supports")
        )

    def _moves_over(self, word: str, after: str) -> bool:
        """ "over to the table", "around in the room": a direction rather than half of the verb."""
        if word in ("over", "around", "along", "through") and word not in verbs().separable.get(self.base, frozenset()):
            return after == "to" or (word == "over" and after in ("there", "here"))
        toward = after == "to" and not self._purpose(self.at + 1)
        return toward and word in ("over", "around", "up", "down") and self.base in verb_list("walks")

    def _purpose(self, index: int) -> bool:
        """Whether the "to" at a token opens "to do something" rather than names a goal."""
        noun = self.nouns.at(index + 1)
        return "b" in self.nouns.tags(index + 1) and (noun is None or not noun.determined)

    def _adverb_place(self, word: str) -> bool:
        after = self.nouns.word(self.at + 1)
        joins = after == "to" or after in word_list("spatial") or after in word_list("directions")
        if joins or word in ("inside", "outside", "behind", "nearby", "past", "across", "around", "over", "through"):
            self._piece(self.at, self.at + 1)
        elif "g" in self.nouns.tags(self.at + 1):
            self.at = self._skip_gerund(self.at + 1)
            return True
        self.at += 1
        return True

    def _skip_gerund(self, index: int) -> int:
        phrase = self.nouns.at(index + 1)
        return phrase.end if phrase else index + 1

    def _place(self) -> bool:
        phrases = self._joined(self.at + 1)
        if not phrases:
            return self._adverb_place(self.nouns.word(self.at))
        last = phrases[-1]
        time = phrases[0].head in word_list("time_nouns") or singular(phrases[0].head) in word_list("time_nouns")
        if not time:
            self._piece(self.at, last.end)
            self.out.nouns += phrases
        self.at = last.end
        if self.nouns.word(self.at) == "'s":
            self.at += 1
        return True

    def _other(self, word: str) -> bool:
        if word in self._selected() and not self.out.objects:
            return self._selected_object(word)
        if "g" in self.nouns.tags(self.at + 1) and self.nouns.at(self.at + 1) is None:
            return self._stop("drop")
        if word in ("like", "than", "since", "until", "before", "after", "as") and self._clause_at(self.at + 1):
            return False
        phrases = self._joined(self.at + 1)
        if phrases:
            self.at = phrases[-1].end
            self.out.nouns += phrases
        return True

    # --- objects --------------------------------------------------------------------------------------------

    def _joined(self, index: int) -> list[Phrase]:
        """Noun phrases joined by "and" or in a list, as far as no new clause starts."""
        nouns = self.nouns
        first = nouns.at(index)
        if first is None:
            return []
        phrases = [first]
        while nouns.word(phrases[-1].end) in ("and", "or", "&", ","):
            joint = phrases[-1].end
            after = joint + 2 if nouns.word(joint) == "," and nouns.word(joint + 1) == "and" else joint + 1
            following = nouns.at(after)
            if following is None or nouns.word(after) in _PERSONAL or self._verb_starts(after):
                break
            clause = find_subject(self.nouns, after)
            if clause is not None and clause[1] >= following.end and not self._small_clause_of(following):
                break
            if after == joint + 1 and nouns.word(joint) == ",":
                listed = following.kind == first.kind and nouns.word(following.end) in (",", "and")
                if not listed or (nouns.word(following.end) == "and" and self._verb_starts(following.end + 1)):
                    break
            phrases.append(following)
        return phrases

    def _small_clause_of(self, noun: Phrase) -> bool:
        """ "watched Violet and Lucia clear the table": the second name still belongs to what is watched."""
        return (
            self._verb() in verb_list("perception")
            and noun.animate
            and "b" in self.nouns.tags(noun.end)
            and "p" not in self.nouns.tags(noun.end)
        )

    def _verb_starts(self, index: int) -> bool:
        """Whether a verb in the form of this clause's verb starts here, rather than a noun."""
        nouns = self.nouns
        while nouns.word(index) in word_list("adverbs") or nouns.word(index) == "then":
            index += 1
        forms = verb_forms(nouns.word(index))
        named = nouns.word(index) in word_list("ing_nouns") and not nouns.is_argument(index + 1)
        if not forms or named:
            return False
        tags = "".join(found for _, found in forms)
        agree = any(tag in tags for tag in self._agreeing())
        doubtful = any(base in verbs().often_nouns for base, _ in forms) and ("b" in tags or "s" in tags)
        if not doubtful:
            adjective = "n" in tags and not agree and nouns.is_noun(index + 1)
            acts = "s" in tags and (nouns.is_argument(index + 1) or nouns.word(index + 1) in word_list("particles"))
            return not adjective and (agree or acts or "g" in tags or "p" in tags)
        after = nouns.word(index + 1)
        if nouns.word(index) in word_list("bare_things") and after in word_list("spatial"):
            return False  # "put the cup and water on the shelf"
        return agree and (self.nouns.is_argument(index + 1) or after in lists("particles", "directions", "spatial"))

    def _agreeing(self) -> str:
        tags = self.tags
        return (
            ("pn" if "p" in tags or "n" in tags else "")
            + ("b" if "b" in tags else "")
            + ("g" if "g" in tags else "")
            + ("s" if "s" in tags else "")
        )

    def _noun_or_verb(self, word: str) -> bool:
        nouns = self.nouns
        if word in word_list("auxiliaries") and word != "'s":
            return self._stop("drop")
        noun = nouns.at(self.at)
        tags = self.nouns.tags(self.at)
        follows = bool(self.out.objects) and self.out.objects[-1].end == self.at
        causes = self._verb() in verb_list("perception") or self.base in ("help", "let", "make")
        bare = noun is None or (
            noun.start == self.at and not noun.determined and self.out.objects[-1:] and self.out.objects[-1].animate
        )
        if "b" in tags and follows and bare and (causes or noun is None):
            return self._stop("small clause" if causes else "drop")
        if "g" in tags and self.out.objects and nouns.is_gerund(self.at):
            return self._stop("gerund")
        if noun is not None and noun.end > self.at:
            return self._object(noun)
        return self._stop("gerund") if "g" in tags else True

    def _object(self, noun: Phrase) -> bool:
        out = self.out
        phrases = self._joined(self.at)
        if singular(noun.head) in word_list("times") and noun.determined:
            self.at = noun.end
            return True
        if self._light(noun):
            return True
        if self.base == "be":
            out.objects += phrases
        elif not out.objects and not self.preposition:
            out.objects = phrases
        elif (
            self.base in verb_list("transfer")
            and len(out.objects) == 1
            and out.objects[0].end == self.at
            and not self.recipient
        ):
            self.recipient = "to " + self.sentence.slice(out.objects[0].start, out.objects[0].end)
            out.objects = phrases
        out.nouns += phrases
        self.at = phrases[-1].end
        return True

    def _light(self, noun: Phrase) -> bool:
        """ "take a look at X" is "look at X", "a sip of tea" is "sip tea"."""
        known = verbs()
        if self.base not in known.light_verbs or self.preposition:
            return False
        words = self.sentence.low[noun.start : noun.end]
        opened = (
            words[0] in ("a", "an", "another", "few", "several", "some", "one", "two", "three", "quick")
            or words[0].isdigit()
        )
        cut = words.index("of") if "of" in words else len(words)
        meaning = known.light.get(singular(words[cut - 1]))
        if meaning is None or not opened or (cut > 4):
            return False
        self.base = meaning
        if self.out.objects and self.out.objects[0].end == noun.start:
            pass  # "gave the cream a lick": the object is already there
        elif cut < len(words):
            inner = self.nouns.at(noun.start + cut + 1)
            if inner is not None:
                self.out.objects = [inner]
                self.out.nouns.append(inner)
        self.at = noun.end
        return True

    # --- the result -----------------------------------------------------------------------------------------

    def result(self) -> Complement:
        """The finished complement."""
        out = self.out
        out.verb, out.end = self._verb(), self.at
        places = [self.sentence.slice(start, end) for start, end in self.pieces]
        out.place = " ".join(([self.recipient] if self.recipient else []) + places)
        return out
