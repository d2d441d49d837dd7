"""Clauses of one English sentence: who did what to what, and where, by word lists and word order.

A deterministic left-to-right reader. It prefers silence to invention: what it cannot place is skipped, and
what was only meant, hoped, asked or denied is not reported as done.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from amr.perceive.lemmas import verb_forms, verb_list, verbs, word_list
from amr.perceive.complement import Complement, read_complement
from amr.perceive.phrases import CONJUNCTIONS, PUNCTUATION, Nouns, Phrase, is_adverb, lists
from amr.perceive.tokens import Sentence

_BE = frozenset({"am", "is", "are", "was", "were", "be", "been", "being", "'m", "'re"})
_HAVE = frozenset({"have", "has", "had", "'ve", "having"})
_WILL = frozenset({"will", "'ll", "shall", "wo"})
_CAN = frozenset({"can", "could"})
_MODAL = frozenset({"would", "should", "may", "might", "must", "ca", "can", "could", "'d"})
_STATIVE = frozenset("want need like love hate wish know prefer believe think mean own belong seem deserve suppose".split())
_LINKING = frozenset("look seem sound smell taste appear become get feel turn".split())
_STATES = {"open": "be open", "closed": "be closed", "shut": "be closed", "locked": "be locked", "on": "be on", "off": "be off", "broken": "be broken"}
_RELATIVE = frozenset({"who", "which", "that"})
_SENTENCE_STOPS = frozenset(".!?;:。！？；…")
_BREAKS = frozenset({",", ";", ":", "—", "–", "…", "(", ")", '"', "“", "”", "but", "then"}) | _SENTENCE_STOPS


@dataclass(frozen=True)
class Deed:
    """One action as read: texts verbatim, `certain` false when it was only meant, inferred or unresolved."""

    actor: str
    verb: str
    object: str
    place: str
    certain: bool


@dataclass(frozen=True)
class Group:
    """A verb group: its main verb, where its complement starts, and what the helpers before it say."""

    verb: str
    end: int
    tags: str
    certain: bool = True
    denied: bool = False
    passive: bool = False
    copula: bool = False


@dataclass
class Clauses:
    """The reader of one sentence. `me` is who "I" is; `narrated` lets a bare verb be `me`'s deed."""

    sentence: Sentence
    nouns: Nouns
    me: str
    narrated: bool
    deeds: list[Deed] = field(default_factory=list)
    wish: bool = False
    command: bool = False
    subjects: list[Phrase] | None = None
    pending: tuple[str, Complement, list[Phrase] | None, bool] | None = None
    person: Phrase | None = None

    # --- the walk over the sentence -------------------------------------------------------------------------

    def read(self) -> None:
        """Read every clause of the sentence into `deeds`."""
        index = 0
        while index < self.nouns.count:
            following = self._clause(index)
            index = max(index + 1, following)

    def opens_with_verb(self) -> bool:
        """Whether the sentence starts with a verb rather than with whose deed it is."""
        start = self._opening(0)
        word = self.nouns.word(start)
        if not word or self.command or self.subject(start) is not None or self._vocative(start):
            return False
        if word in word_list("auxiliaries") and word not in ("having", "have"):
            return False
        if word == "let":
            return self.nouns.word(start + 1) == "me"
        if word in word_list("subordinators") or word in word_list("conditional"):
            return False
        tags = "".join(found for _, found in verb_forms(word))
        if "g" in tags:
            return word not in word_list("ing_nouns") and not self._is_gerund_noun(start)
        return bool(tags) and self._bare_verb(start, tags, opening=True)

    def _clause(self, index: int) -> int:
        start = self._opening(index)
        word = self.nouns.word(start)
        if not word:
            return self.nouns.count
        if word in word_list("conditional"):
            return self._skip_past_comma(start)
        if word in word_list("subordinators") or word == "by":
            return self._subordinate(start)
        if word == "let":
            return self._let(start)
        if word == "there" and self._is_be(start + 1):
            return self._existential(start + 1)
        if word == "to" and self._infinitive(start + 1):
            return self._skip_past_comma(start)
        if word in _RELATIVE and index > 0 and self.person is not None and word == "who":
            if self._finite(self._skip_adverbs(start + 1), [self.person]):
                return self._verb_phrase(start + 1, [self.person])
        if word in word_list("question_words") and word not in ("which",):
            return self._skip_past_comma(start)
        if self._vocative(start):
            return self.nouns.count
        found = None if self._tells_deed(start) else self.subject(start)
        if found is not None:
            return self._verb_phrase(found[1], found[0])
        return self._without_subject(start)

    def _tells_deed(self, start: int) -> bool:
        """ "Turn left": a verb with a direction or object after it, though it may be a noun."""
        if not self._has_subject():
            return False
        phrase = self.nouns.at(start, "subject")
        tags = "".join(found for _, found in verb_forms(self.nouns.word(start)))
        bare = phrase is not None and phrase.kind == "thing" and not phrase.determined
        return bare and "b" in tags and self._bare_verb(start, tags, opening=self.subjects is None)

    def _opening(self, index: int) -> int:
        """Skip what may stand before a clause: "and then", "um", "just now"."""
        nouns = self.nouns
        while index < nouns.count:
            word = nouns.word(index)
            if word in ("right", "left", "well", "like", "first", "please", "once", "since", "so", "before", "one-more"):
                skip = word != "left" and word not in ("once", "since", "before", "like") and not nouns.is_noun(index + 1)
                skip = skip or word in ("so", "please") or (word == "right" and nouns.word(index + 1) == ",")
                if word == "please":
                    self.command = not self.narrated or self.command
            else:
                skip = word in PUNCTUATION or word in CONJUNCTIONS
                skip = skip or is_adverb(word) or word in word_list("interjections")
            if not skip:
                return index
            index += 1
        return index

    def _without_subject(self, start: int) -> int:
        """A clause that starts with its verb, or no clause at all."""
        nouns = self.nouns
        forms = verb_forms(nouns.word(start))
        tags = "".join(found for _, found in forms)
        inherited = self.subjects
        if inherited is not None or self.narrated:
            if "g" in tags and nouns.word(start) not in word_list("ing_nouns") and not self._is_gerund_noun(start):
                return self._verb_phrase(start, inherited)
            if nouns.word(start) in word_list("negations") or nouns.word(start) in ("do", "don"):
                if nouns.word(start + 1) in word_list("negations") or nouns.word(start) not in ("do", "don"):
                    return self._skip_past_comma(start)
            if tags and self._bare_verb(start, tags, opening=inherited is None):
                return self._verb_phrase(start, inherited)
            if nouns.word(start) in ("going", "about", "getting", "gonna"):
                return self._verb_phrase(start, inherited)
        elif "b" in tags and self._bare_verb(start, tags, opening=True):
            self.command = True
            return self.nouns.count
        return self._fragment(start)

    def _fragment(self, start: int) -> int:
        """Step over a phrase that belongs to no clause, such as "In the kitchen,"."""
        nouns = self.nouns
        word = nouns.word(start)
        if word in lists("spatial", "other_prepositions") or word == "to":
            phrase = nouns.at(start + 1)
            if phrase is not None:
                return phrase.end
        phrase = nouns.at(start)
        if phrase is not None and phrase.end > start:
            if phrase.animate and nouns.word(phrase.end) == ",":
                self.person = phrase
            return phrase.end
        return start + 1

    def _is_gerund_noun(self, start: int) -> bool:
        word, after = self.nouns.word(start), self.nouns.word(start + 1)
        known = word in word_list("ing_modifiers") and word not in ("holding",)
        return known and after in ("room", "table", "cable", "board", "machine", "lot", "cart", "bag", "water", "area", "pool", "oil")

    def _bare_verb(self, start: int, tags: str, opening: bool) -> bool:
        """Whether a word that may be a noun as well is the verb that opens a clause."""
        nouns = self.nouns
        word, after = nouns.word(start), nouns.word(start + 1)
        if word in lists("auxiliaries", "spatial", "adverbs") or (word in ("left", "right") and not self._argument(start + 1)):
            return False
        if after in ("of", "'s") or (after in _BE and word not in ("put", "let")):
            return False
        doubtful = any(base in verbs().often_nouns for base, _ in verb_forms(word))
        argument = self._argument(start + 1) or after in lists("directions", "particles")
        if "b" in tags:
            return not doubtful or argument or ((not after or after in PUNCTUATION or after in CONJUNCTIONS or after in word_list("spatial") or after in word_list("adverbs")) and (not opening or word in _CERTAIN_BASE))
        if "p" in tags:
            return argument or "n" not in tags or not after or not nouns.is_noun(start + 1)
        if "s" in tags and verb_forms(word)[0][0] not in _LINKING:
            return argument
        return False

    def _argument(self, index: int) -> bool:
        """Whether an object that cannot be half of a compound noun starts here."""
        word = self.nouns.word(index)
        if word in word_list("determiners") or word in word_list("objects") or word == "to" or word in word_list("spatial"):
            return True
        phrase = self.nouns.at(index)
        return phrase is not None and phrase.kind in ("name", "pronoun")

    # --- subjects -------------------------------------------------------------------------------------------

    def subject(self, index: int) -> tuple[list[Phrase], int] | None:
        """The subject that starts at a token and where its verb group starts, or None."""
        nouns = self.nouns
        phrases = self.joined(index)
        if not phrases:
            return None
        end = phrases[-1].end
        if phrases[0].kind == "pronoun" and phrases[0].head in _OBJECT_FORMS:
            return None
        for _ in range(3):
            at = self._skip_adverbs(end)
            if self._finite(at, phrases):
                return phrases, end
            if nouns.word(end) in lists("spatial", "other_prepositions") and nouns.word(end) not in ("up", "down"):
                inner = nouns.at(end + 1, "subject")
                if inner is None:
                    return None
                end = inner.end
                continue
            return None
        return None

    def joined(self, index: int) -> list[Phrase]:
        """Subject phrases joined by "and" or commas from a token on."""
        nouns = self.nouns
        first = nouns.at(index, "subject")
        if first is None:
            return []
        phrases = [first]
        while nouns.word(phrases[-1].end) in ("and", "or", "&", ","):
            after = phrases[-1].end + 1
            if nouns.word(after) == "and":
                after += 1
            following = nouns.at(after, "subject")
            if following is None or verb_forms(nouns.word(after)):
                break
            comma = nouns.word(phrases[-1].end) == ","
            if comma and not (following.kind == first.kind == "name" and nouns.word(following.end) in (",", "and")):
                break
            phrases.append(following)
        return phrases

    def _finite(self, index: int, phrases: list[Phrase]) -> bool:
        """Whether a verb that can follow this subject stands at a token."""
        nouns = self.nouns
        word = nouns.word(index)
        if not word:
            return False
        if word in word_list("auxiliaries"):
            return word != "'s" or not nouns.is_possessive(index)
        if word in word_list("negations"):
            return False
        tags = "".join(found for _, found in verb_forms(word))
        if "p" in tags or (word in _HAVE):
            return word != "left" or self._argument(index + 1) or not nouns.word(index + 1) or nouns.word(index + 1) in PUNCTUATION | CONJUNCTIONS or nouns.word(index + 1) in word_list("adverbs")
        if "s" in tags:
            return True
        return "b" in tags and (len(phrases) > 1 or nouns.is_plural(phrases[0]))

    def _skip_adverbs(self, index: int) -> int:
        while is_adverb(self.nouns.word(index)) or self.nouns.word(index) in ("both", "all", "each"):
            index += 1
        return index

    def _vocative(self, start: int) -> bool:
        """ "Lucia, open it": somebody is told to do something."""
        phrase = self.nouns.at(start)
        if phrase is None or phrase.kind != "name" or self.nouns.word(phrase.end) != ",":
            return False
        after = self._skip_adverbs(phrase.end + 1)
        tags = "".join(found for _, found in verb_forms(self.nouns.word(after)))
        if "b" in tags and self.nouns.word(after) not in word_list("auxiliaries") and self.subject(after) is None:
            self.command = True
            return True
        return False

    # --- clauses with an opening word -----------------------------------------------------------------------

    def _subordinate(self, start: int) -> int:
        after = start + 1
        if "g" in "".join(found for _, found in verb_forms(self.nouns.word(after))):
            return self._verb_phrase(after, self.subjects) if self._has_subject() else self._skip_past_comma(after)
        found = self.subject(after)
        if found is not None:
            before = self.subjects
            end = self._verb_phrase(found[1], found[0])
            self.subjects = before if before is not None and self.nouns.word(end) != "and" else self.subjects
            return end
        return self._fragment(start)

    def _has_subject(self) -> bool:
        return self.subjects is not None or self.narrated

    def _let(self, start: int) -> int:
        """ "Let me put it here" and "let's go": meant, not done; in speech "let's" is a proposal."""
        whom = self.nouns.word(start + 1)
        if whom == "me" or (whom in ("'s", "us") and self.narrated):
            group = self._group(start + 2)
            if group is not None:
                return self._finish(replace(group, certain=False), None)
        self.wish = True
        return self._skip_past_comma(start)

    def _existential(self, start: int) -> int:
        """ "There is a phone on the table"."""
        at = start + 1
        if self.nouns.word(at) in word_list("negations") or self.nouns.word(at) == "no":
            return self._skip_past_comma(at)
        at = self._skip_adverbs(at)
        phrase = self.nouns.at(at)
        if phrase is None:
            return at
        found = read_complement(self.sentence, self.nouns, "be", phrase.end, "b", self)
        if found.place and not found.objects:
            self._add("", "be", self.text(phrase), found.place, True)
        self.subjects = [phrase]
        return found.end

    def _skip_past_comma(self, index: int) -> int:
        nouns = self.nouns
        while index < nouns.count and nouns.word(index) not in _BREAKS:
            index += 1
        return index + 1

    def _skip_denied(self, index: int) -> int:
        """Step over what is said not to happen: up to a comma, "but", or "and" with a new subject."""
        nouns = self.nouns
        while index < nouns.count and nouns.word(index) not in _BREAKS:
            if nouns.word(index) == "and" and self.subject(self._skip_adverbs(index + 1)) is not None:
                break
            index += 1
        return index

    # --- verb groups ----------------------------------------------------------------------------------------

    def _verb_phrase(self, index: int, subjects: list[Phrase] | None) -> int:
        if subjects is not None:
            people = [phrase for phrase in subjects if phrase.animate]
            self.person = people[-1] if people else self.person
        group = self._group(index)
        self.subjects = subjects
        if group is None:
            return self._skip_adverbs(index) + 1
        return self._finish(group, subjects)

    def _finish(self, group: Group, subjects: list[Phrase] | None) -> int:
        self.subjects = subjects
        if group.denied:
            return self._skip_denied(group.end)
        if group.copula:
            return self._copula(group, subjects)
        return self._deed(group, subjects)

    def _group(self, index: int) -> Group | None:
        """The verb group at a token: helpers, then the main verb."""
        nouns = self.nouns
        certain, denied, be = True, False, False
        perfect = False
        while index < nouns.count:
            word = nouns.word(index)
            after = self._skip_adverbs(index + 1)
            if word in word_list("negations"):
                denied = True
            elif word in word_list("hedges") and word != "might":
                certain = False
            elif word in _BE or (word == "'s" and not nouns.is_possessive(index)):
                be = True
                if nouns.word(after) in ("going", "about", "ready", "gonna") and nouns.word(after + 1) == "to" and self._infinitive(after + 2):
                    certain, be, index = False, False, after + 1
            elif word in ("going", "getting", "about", "ready", "get", "got") and self._ready(index):
                certain, index = False, self._ready(index)
            elif word in _HAVE and (self._participle(after) or nouns.word(after) in ("been", "n't", "not", "never")):
                perfect = True
            elif word in _HAVE and nouns.word(after) == "to" and self._infinitive(after + 1):
                denied = self.wish = True
            elif word in _WILL:
                certain = False
            elif word in _CAN and self._perceives(after):
                pass
            elif word in _MODAL:
                denied = True
                self.wish = True
            elif word in ("do", "does", "did") and (nouns.word(after) in word_list("negations") or self._infinitive(after)):
                pass
            elif is_adverb(word) or word in ("both", "all", "each", "to"):
                pass
            else:
                break
            index += 1
        return self._main(index, certain, denied, be, perfect)

    def _ready(self, index: int) -> int:
        """The token before the verb of "getting ready to go" or "going to go", or 0."""
        nouns = self.nouns
        at = index + 1
        if nouns.word(at) in ("ready", "prepared", "set"):
            at += 1
        elif nouns.word(index) not in ("going", "about", "ready"):
            return 0
        return at if nouns.word(at) == "to" and self._infinitive(at + 1) else 0

    def _main(self, index: int, certain: bool, denied: bool, be: bool, perfect: bool) -> Group | None:
        nouns = self.nouns
        word = nouns.word(index)
        forms = verb_forms(word)
        tags = "".join(found for _, found in forms)
        if be and not (("g" in tags and word not in word_list("ing_nouns")) or ("n" in tags and self._passive(index))):
            return Group("be", index, "b", certain, denied, copula=True)
        if not forms:
            return None
        want = "gn" if be else ("n" if perfect else "psbg")
        verb = next((base for tag in want for base, found in forms if tag in found), forms[0][0])
        passive = be and "g" not in tags
        return self._chain(Group(verb, index + 1, tags, certain, denied, passive))

    def _chain(self, group: Group) -> Group:
        """Follow "start to", "keep", "try to" to the verb that matters."""
        nouns = self.nouns
        at = self._skip_adverbs(group.end)
        if nouns.word(at) in ("hard", "out", "up", "on", "my") and group.verb in ("try", "end", "keep", "start", "go"):
            at = self._skip_adverbs(at + 1) if self._is_gerund(at + 1) or nouns.word(at + 1) == "to" else at
        infinitive = nouns.word(at) == "to" and self._infinitive(self._skip_adverbs(at + 1))
        gerund = self._is_gerund(at)
        if infinitive or gerund:
            target = self._skip_adverbs(at + 1) if infinitive else at
            if group.verb in verb_list("aspect") and group.verb not in ("come", "go") or (gerund and group.verb == "go"):
                return self._next(group, target, group.certain)
            if group.verb in verb_list("intent"):
                return self._next(group, target, False)
            if group.verb in verb_list("wish") and (group.verb not in ("stop", "quit", "enjoy", "remember") or gerund):
                if group.verb in ("stop", "quit", "enjoy"):
                    return group if group.verb == "stop" else self._next(group, target, group.certain)
                self.wish = True
                return replace(group, denied=True)
        if group.verb in ("go", "come", "help") or group.verb in verb_list("aspect"):
            skip = at + 1 if nouns.word(at) == "and" and group.verb in ("go", "come") and "b" in group.tags else at
            plain = self._infinitive(skip) and not self._argument(skip) and nouns.word(skip) not in lists("particles", "directions", "spatial")
            if plain and ("b" in group.tags or group.verb == "help") and not self._is_object_noun(skip):
                return self._next(group, skip, group.certain)
            if group.verb == "continue" and self._is_gerund(at):
                return self._next(group, at, group.certain)
        if group.verb in _STATIVE and not group.passive:
            self.wish = group.verb in ("want", "need", "wish") or self.wish
            return replace(group, denied=True)
        return group

    def _is_object_noun(self, index: int) -> bool:
        return self.nouns.word(index) in verbs().often_nouns and not self._argument(index + 1)

    def _next(self, group: Group, target: int, certain: bool) -> Group:
        following = self._main(target, certain, group.denied, False, False)
        if following is None:
            return group
        return replace(following, tags=group.tags if "g" not in following.tags else following.tags)

    def _is_be(self, index: int) -> bool:
        word = self.nouns.word(index)
        return word in _BE or word == "'s"

    def _is_gerund(self, index: int) -> bool:
        word = self.nouns.word(index)
        return any("g" in tags for _, tags in verb_forms(word)) and word not in word_list("ing_nouns") and not self._is_gerund_noun(index)

    def _infinitive(self, index: int) -> bool:
        word = self.nouns.word(index)
        return any("b" in tags for _, tags in verb_forms(word)) or word == "be"

    def _participle(self, index: int) -> bool:
        word = self.nouns.word(index)
        found = any("n" in tags for _, tags in verb_forms(word))
        noun = word in verbs().often_nouns and not self._argument(index + 1) and not word.endswith(("ed", "en"))
        return found and not noun

    def _perceives(self, index: int) -> bool:
        return any(base in ("see", "hear", "feel", "smell") for base, _ in verb_forms(self.nouns.word(index)))

    def _passive(self, index: int) -> bool:
        word = self.nouns.word(index)
        return word not in ("tired", "interested", "excited", "surprised", "worried", "done", "gone", "finished", "used", "closed", "shut", "locked", "broken", "mixed", "dressed")

    # --- what is reported -----------------------------------------------------------------------------------

    def _copula(self, group: Group, subjects: list[Phrase] | None) -> int:
        nouns = self.nouns
        at = self._skip_adverbs(group.end)
        word = nouns.word(at)
        if subjects is not None and word in _STATES and not self._argument(at + 1) and not subjects[0].animate:
            for phrase in subjects:
                self._add("", _STATES[word], self.text(phrase), "", group.certain and phrase.kind != "pronoun")
            return at + 1
        if word in ("busy", "done", "finished") and self._is_gerund(at + 1):
            return self._verb_phrase(at + 1, subjects) if word == "busy" else self._skip_denied(at)
        if word in ("seated", "located", "situated", "placed", "parked"):
            at += 1
        found = read_complement(self.sentence, nouns, "be", at, "g", self)
        if found.place and not found.objects and at == found.first_place:
            for phrase in subjects or [None]:
                actor = self.actor(phrase)
                thing = phrase is not None and not actor
                certain = group.certain and not (phrase is not None and self._unresolved(phrase))
                self._add(actor, "be", self.text(phrase) if thing and phrase else "", found.place, certain)
            return self._after(found, subjects, "be")
        if found.end > at:
            return self._after(found, subjects, "be") if self._is_gerund(found.end) and found.place else self._skip_denied(found.end)
        return self._skip_denied(at)

    def _deed(self, group: Group, subjects: list[Phrase] | None) -> int:
        found = read_complement(self.sentence, self.nouns, group.verb, group.end, group.tags, self, group.passive)
        if group.passive:
            self._report_passive(group, subjects, found)
        else:
            self._report(group, subjects, found)
        return self._after(found, subjects, found.verb)

    def _report(self, group: Group, subjects: list[Phrase] | None, found: Complement) -> None:
        if found.verb in _LINKING and not found.objects and not found.place and self._adjective(found.end):
            return
        certain = group.certain and found.certain
        self._share_object(group, found)
        objects = [self.text(phrase) for phrase in found.objects] or [""]
        sure = certain and not any(self._unresolved(phrase) for phrase in found.objects)
        for phrase in subjects or [None]:
            actor = self.actor(phrase)
            if not actor and phrase is not None:
                if found.verb not in _LINKING and not found.objects:
                    self._add("", found.verb, self.text(phrase), found.place, certain and not self._unresolved(phrase))
                continue
            body = phrase is not None and phrase.kind == "body"
            for name in [self.text(phrase)] if body and phrase and objects == [""] else objects:
                self._add(actor, found.verb, name, found.place, sure and not (phrase and self._unresolved(phrase)))
        open_ended = found.verb.split()[0] in _TAKES_OBJECT and not found.objects and not found.place
        self.pending = (found.verb, found, subjects, certain) if open_ended else None

    def _share_object(self, group: Group, found: Complement) -> None:
        """ "Put down and pick up the puzzle": the object stands after the second verb only."""
        if self.pending is None or not found.objects:
            self.pending = None
            return
        verb, before, subjects, certain = self.pending
        self.pending = None
        if self.nouns.word(before.end) == "and" and before.end >= group.end - 3 and self.deeds and self.deeds[-1].verb == verb:
            last = self.deeds.pop()
            sure = certain and not self._unresolved(found.objects[0])
            self.deeds.append(replace(last, object=self.text(found.objects[0]), certain=sure))

    def _report_passive(self, group: Group, subjects: list[Phrase] | None, found: Complement) -> None:
        for phrase in subjects or []:
            if self.actor(phrase) and phrase.kind != "body" and not found.agent and group.verb != "hand":
                continue  # "I was surprised" says nothing that was done
            actor = self.actor(found.agent) if found.agent else ""
            self._add(actor, found.verb, self.text(phrase), found.place, group.certain and not self._unresolved(phrase))

    def _after(self, found: Complement, subjects: list[Phrase] | None, verb: str) -> int:
        """Go on behind a complement: "watched Lucia | put the bag…", "sat down | holding…"."""
        nouns, end = self.nouns, found.end
        people = [phrase for phrase in found.nouns if phrase.animate]
        if people:
            self.person = people[-1]
        if is_adverb(nouns.word(end)):
            end = self._skip_adverbs(end)
        if verb in verb_list("report") and found.reported:
            return self._skip_sentence(end)
        if found.inner == "small clause":
            if verb == "help":
                return self._verb_phrase(end, subjects)
            if verb in verb_list("perception"):
                return self._verb_phrase(end, found.objects)
            return self._skip_denied(end)
        if found.inner == "gerund":
            direct = found.objects and verb in verb_list("perception") and found.objects[-1].end == found.end and found.objects[-1].animate
            return self._verb_phrase(end, found.objects if direct else subjects)
        if found.inner == "purpose":
            group = self._group(self._skip_adverbs(end + 1))
            return end + 1 if group is None else self._finish(replace(group, certain=False), subjects)
        if found.inner == "relative":
            return self._relative(found)
        if found.inner == "drop":
            return self._skip_denied(end)
        return end

    def _relative(self, found: Complement) -> int:
        """ "the bowl I was holding": the clause's missing object is the thing before it."""
        start = found.end + (1 if self.nouns.word(found.end) in _RELATIVE else 0)
        subject = self.subject(start)
        if subject is None:
            return self._skip_denied(start)
        count, owner = len(self.deeds), self.subjects
        end = self._verb_phrase(subject[1], subject[0])
        thing = found.nouns[-1]
        for index in range(count, len(self.deeds)):
            if not self.deeds[index].object:
                self.deeds[index] = replace(self.deeds[index], object=self.text(thing), certain=False)
        self.subjects = owner
        return end

    def _skip_sentence(self, index: int) -> int:
        while index < self.nouns.count and self.nouns.word(index) not in _SENTENCE_STOPS:
            index += 1
        return index

    def _adjective(self, index: int) -> bool:
        word = self.nouns.word(index)
        return bool(word) and word not in PUNCTUATION and word not in CONJUNCTIONS

    def _unresolved(self, phrase: Phrase) -> bool:
        return phrase.kind == "pronoun" and phrase.head in word_list("unresolved")

    def _add(self, actor: str, verb: str, name: str, place: str, certain: bool) -> None:
        self.deeds.append(Deed(actor, verb, name, place, certain))

    def actor(self, phrase: Phrase | None) -> str:
        """Who a subject stands for; empty for a thing. A body part acts for its owner."""
        if phrase is None:
            return self.me
        if phrase.kind == "pronoun":
            if phrase.head in ("i", "we", "me", "us"):
                return self.me
            return _NOMINATIVE.get(phrase.head, phrase.head) if phrase.animate else ""
        if phrase.kind == "body":
            return self._owner(phrase)
        return self.text(phrase) if phrase.animate else ""

    def _owner(self, phrase: Phrase) -> str:
        words = self.sentence.low[phrase.start : phrase.end]
        if words[0] in ("my", "our"):
            return self.me
        if "'s" in words:
            return self.sentence.slice(phrase.start, phrase.start + words.index("'s"))
        return {"his": "he", "her": "she", "their": "they", "your": "you"}.get(words[0], "")

    def text(self, phrase: Phrase) -> str:
        """A phrase as written, without its article or "my"; "me" is whoever speaks."""
        if phrase.kind == "pronoun" and phrase.head in ("me", "myself", "us", "i", "we"):
            return self.me
        start = phrase.start
        while start < phrase.end - 1 and self.sentence.low[start] in _ARTICLES:
            start += 1
        return self.sentence.slice(start, phrase.end)


_ARTICLES = (word_list("determiners") - {"his", "her", "their", "your", "its"}) | {"of"}
_OBJECT_FORMS = frozenset({"me", "him", "them", "us"})
_NOMINATIVE = {"him": "he", "them": "they"}
_CERTAIN_BASE = frozenset("walk look turn move stop wait talk laugh smile drink cook run dance sleep nod stand sit speak eat continue wash clean open close".split())
_TAKES_OBJECT = frozenset("put pick take hold open close get grab cut wash wipe lift place hand give pull push carry move throw tear fold peel pour stir".split())
