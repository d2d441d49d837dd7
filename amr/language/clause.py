"""Clauses of one English sentence: who did what to what, and where, by word lists and word order.

A deterministic left-to-right reader. It prefers silence to invention: what it cannot place is skipped, and
what was only meant, hoped, asked or denied is not reported as done.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from amr.language.complement import Complement, read_complement
from amr.language.deeds import Deed, Namer, is_unresolved
from amr.language.groups import BE, Group, read_group
from amr.language.lemmas import verb_list, word_list
from amr.language.phrases import CONJUNCTIONS, PUNCTUATION, Nouns, Phrase, is_adverb, lists
from amr.language.states import state_of
from amr.language.subjects import find_subject, follows_as_verb, is_call, is_verb_first, skip_opening, tells_deed
from amr.language.tokens import Sentence

_STATES = {
    "open": "be open", "closed": "be closed", "shut": "be closed", "locked": "be locked", "on": "be on",
    "off": "be off", "broken": "be broken",
}  # fmt: skip
_SENTENCE_STOPS = frozenset(".!?;:。！？；…")
_BREAKS = frozenset({",", "—", "–", "(", ")", '"', "“", "”", "but", "then"}) | _SENTENCE_STOPS

Subjects = list[Phrase] | None
"""Who does it; None for the narrator of a sentence without a subject."""


@dataclass
class Clauses:
    """The reader of one sentence. `narrated` lets a verb without a subject be the narrator's deed."""

    sentence: Sentence
    nouns: Nouns
    namer: Namer
    narrated: bool
    deeds: list[Deed] = field(default_factory=list)
    wish: bool = False
    command: bool = False
    subjects: Subjects = None
    person: Phrase | None = None
    unfinished: tuple[Deed, int] | None = None

    # --- the walk over the sentence -------------------------------------------------------------------------

    def read(self) -> None:
        """Read every clause of the sentence into `deeds`."""
        index = 0
        while index < self.nouns.count:
            index = max(index + 1, self._clause(index))

    def _clause(self, index: int) -> int:
        nouns = self.nouns
        start = skip_opening(nouns, index)
        word = nouns.word(start)
        if "please" in nouns.low[index:start] and not self.narrated:
            self.command = True
        if word in word_list("conditional"):
            return nouns.count  # what would be, not what is
        if word in word_list("subordinators"):
            return self._subordinate(start)
        if word == "let":
            return self._let(start)
        if word == "there" and (nouns.word(start + 1) in BE or nouns.word(start + 1) == "'s"):
            return self._existential(start + 2)
        if word == "to" and nouns.is_base(start + 1):
            return self._skip_past_comma(start)
        if word == "who" and self.person is not None and follows_as_verb(nouns, start + 1, self.person):
            return self._verb_phrase(start + 1, [self.person])
        if word in word_list("question_words") and word != "which":
            return self._skip_past_comma(start)
        if is_call(nouns, start):
            self.command = True
            return nouns.count
        found = None
        if not (self._has_subject() and tells_deed(nouns, start, self.subjects is None)):
            found = find_subject(nouns, start)
        return self._verb_phrase(found[1], found[0]) if found else self._without_subject(start)

    def _has_subject(self) -> bool:
        return self.subjects is not None or self.narrated

    def _without_subject(self, start: int) -> int:
        """A clause that starts with its verb, or no clause at all."""
        nouns, opening = self.nouns, self.subjects is None
        word = nouns.word(start)
        if not self._has_subject():
            if nouns.is_base(start) and is_verb_first(nouns, start, True):
                self.command = True
                return nouns.count
            return self._fragment(start)
        negated = word in word_list("negations") or (word == "do" and nouns.word(start + 1) in word_list("negations"))
        if negated:
            return self._skip_past_comma(start)
        verb = nouns.is_gerund(start) or word in ("going", "about", "getting")
        if verb or (nouns.tags(start) and is_verb_first(nouns, start, opening)):
            return self._verb_phrase(start, self.subjects)
        return self._fragment(start)

    def _fragment(self, start: int) -> int:
        """Step over a phrase that belongs to no clause, such as "In the kitchen,"."""
        nouns = self.nouns
        if nouns.word(start) in lists("spatial", "other_prepositions"):
            phrase = nouns.at(start + 1)
            if phrase is not None:
                return phrase.end
        phrase = nouns.at(start)
        if phrase is None:
            return start + 1
        if phrase.animate and nouns.word(phrase.end) == ",":
            self.person = phrase
        return phrase.end

    # --- clauses with an opening word -----------------------------------------------------------------------

    def _subordinate(self, start: int) -> int:
        after = start + 1
        if "g" in self.nouns.tags(after):
            if self._has_subject():
                return self._verb_phrase(after, self.subjects)
            return self._skip_past_comma(after)
        found = find_subject(self.nouns, after)
        if found is None:
            return self._fragment(start)
        before = self.subjects
        end = self._verb_phrase(found[1], found[0])
        if before is not None and self.nouns.word(end) != "and":
            self.subjects = before
        return end

    def _let(self, start: int) -> int:
        """ "Let me put it here" and "let's go": meant, not done; in speech "let's" is a proposal."""
        whom = self.nouns.word(start + 1)
        if whom == "me" or (whom in ("'s", "us") and self.narrated):
            group = read_group(self.nouns, start + 2)
            if group is not None:
                return self._finish(replace(group, certain=False), None)
        self.wish = True
        return self._skip_past_comma(start)

    def _existential(self, at: int) -> int:
        """ "There is a phone on the table"."""
        if self.nouns.word(at) in word_list("negations") or self.nouns.word(at) == "no":
            return self._skip_past_comma(at)
        at = self.nouns.skip_adverbs(at)
        found = read_complement(self.sentence, self.nouns, "be", at, "g")
        for phrase in found.objects if found.place and found.inner != "relative" else []:
            actor = self.namer.actor(phrase)
            self._add(actor, "be", "" if actor else self.namer.text(phrase), found.place, True)
        self.subjects = found.objects or None
        return max(found.end, at)

    def _skip_past_comma(self, index: int) -> int:
        while index < self.nouns.count and self.nouns.word(index) not in _BREAKS:
            index += 1
        return index + 1

    def _skip_denied(self, index: int) -> int:
        """Step over what is said not to happen: up to a comma, "but", or "and" with a new subject."""
        nouns = self.nouns
        while index < nouns.count and nouns.word(index) not in _BREAKS:
            if nouns.word(index) == "and" and find_subject(nouns, nouns.skip_adverbs(index + 1)) is not None:
                break
            index += 1
        return index

    def _skip_sentence(self, index: int) -> int:
        while index < self.nouns.count and self.nouns.word(index) not in _SENTENCE_STOPS:
            index += 1
        return index

    # --- verb phrases ---------------------------------------------------------------------------------------

    def _verb_phrase(self, index: int, subjects: Subjects) -> int:
        people = [phrase for phrase in subjects or [] if phrase.animate]
        self.person = people[-1] if people else self.person
        self.subjects = subjects
        group = read_group(self.nouns, index)
        if group is None:
            return self.nouns.skip_adverbs(index) + 1
        return self._finish(group, subjects)

    def _finish(self, group: Group, subjects: Subjects) -> int:
        self.subjects = subjects
        self.wish = self.wish or group.wish
        nobody = subjects is not None and subjects[0].head in ("none", "nobody", "nothing", "no")
        if group.denied or nobody or self._tells_you(group, subjects):
            return self._skip_denied(group.end)
        return self._copula(group, subjects) if group.copula else self._deed(group, subjects)

    def _tells_you(self, group: Group, subjects: Subjects) -> bool:
        """ "You put it in the box", in speech: how it is done, not that it was."""
        if self.narrated or subjects is None or subjects[0].head != "you" or group.copula:
            return False
        self.command = self.command or "b" in group.tags
        return "b" in group.tags or not group.certain

    def _copula(self, group: Group, subjects: Subjects) -> int:
        nouns = self.nouns
        at = nouns.skip_adverbs(group.end)
        word = nouns.word(at)
        if subjects is not None and word in _STATES and nouns.at(at + 1) is None and not subjects[0].animate:
            for phrase in subjects:
                self._add("", _STATES[word], self.namer.text(phrase), "", group.certain and not is_unresolved(phrase))
            return at + 1
        if word == "busy" and nouns.is_gerund(at + 1):
            return self._verb_phrase(at + 1, subjects)
        at += word in ("seated", "located", "situated", "placed", "parked")
        found = read_complement(self.sentence, nouns, "be", at, "g")
        if not found.place or found.objects or at != found.first_place:
            return self._skip_denied(max(at, found.end))
        for subject in subjects or (None,):
            actor = self.namer.actor(subject)
            thing = self.namer.text(subject) if subject and not actor else ""
            self._add(actor, "be", thing, found.place, group.certain and not is_unresolved(subject))
        return self._after(found, subjects)

    def _deed(self, group: Group, subjects: Subjects) -> int:
        found = read_complement(self.sentence, self.nouns, group.verb, group.end, group.tags, group.passive)
        active = bool(found.objects) and any(phrase.animate for phrase in subjects or [])
        if group.passive and not active:  # "he's taken the phone" is no passive
            self._report_passive(group, subjects, found)
        else:
            self._report(group, subjects, found)
        return self._after(found, subjects)

    # --- what is reported -----------------------------------------------------------------------------------

    def _report(self, group: Group, subjects: Subjects, found: Complement) -> None:
        if found.verb in verb_list("linking") and not found.objects and not found.place and self._adjective(found.end):
            return
        self._share_object(group, found)
        certain = group.certain and found.certain and not any(map(is_unresolved, found.objects))
        for subject in subjects or (None,):
            sure = certain and not is_unresolved(subject)
            for actor, thing in self._pairs(subject, found):
                self._add(actor, found.verb, thing, found.place, sure)
        open_ended = found.verb.split()[0] in verb_list("takes_object") and not found.objects and not found.place
        self.unfinished = (self.deeds[-1], found.end) if open_ended and self.deeds else None

    def _pairs(self, subject: Phrase | None, found: Complement) -> list[tuple[str, str]]:
        """Who acts on what, for one subject: a thing that moves is what is acted on, by nobody."""
        actor = self.namer.actor(subject)
        if subject is not None and not actor:
            alone = found.verb not in verb_list("linking") and not found.objects
            return [("", self.namer.text(subject))] if alone else []
        if subject is not None and subject.kind == "body" and not found.objects:
            return [(actor, self.namer.text(subject))]
        return [(actor, self.namer.text(thing)) for thing in found.objects] or [(actor, "")]

    def _share_object(self, group: Group, found: Complement) -> None:
        """ "Put down and pick up the puzzle": the object stands after the second verb only."""
        unfinished, self.unfinished = self.unfinished, None
        if unfinished is None or not found.objects:
            return
        deed, end = unfinished
        if self.nouns.word(end) == "and" and end >= group.end - 3 and self.deeds[-1] is deed:
            certain = deed.certain and not is_unresolved(found.objects[0])
            self.deeds[-1] = replace(deed, object=self.namer.text(found.objects[0]), certain=certain)

    def _report_passive(self, group: Group, subjects: Subjects, found: Complement) -> None:
        actor = self.namer.actor(found.agent) if found.agent else ""
        for phrase in subjects or []:
            moved = phrase.head in ("he", "she") and bool(found.place) and state_of(found.verb) in ("located", "inside")
            if self.namer.actor(phrase) and phrase.kind != "body" and not found.agent and not moved:
                continue  # "I was surprised" says nothing that was done; "he was put on the sofa" is said of a thing
            certain = group.certain and not is_unresolved(phrase)
            self._add(actor, found.verb, self.namer.text(phrase), found.place, certain)

    def _adjective(self, index: int) -> bool:
        word = self.nouns.word(index)
        return bool(word) and word not in PUNCTUATION and word not in CONJUNCTIONS

    def _add(self, actor: str, verb: str, name: str, place: str, certain: bool) -> None:
        self.deeds.append(Deed(actor, verb, name, place, certain))

    # --- clauses inside a complement ------------------------------------------------------------------------

    def _after(self, found: Complement, subjects: Subjects) -> int:
        """Go on behind a complement: "watched Lucia | put the bag…", "sat down | holding…"."""
        nouns, end = self.nouns, found.end
        people = [phrase for phrase in found.nouns if phrase.animate]
        self.person = people[-1] if people else self.person
        if is_adverb(nouns.word(end)):
            end = nouns.skip_adverbs(end)
        if found.reported and found.verb in verb_list("report"):
            return self._skip_sentence(end)
        if found.inner in ("small clause", "gerund"):
            return self._inner_verb(found, end, subjects)
        if found.inner == "purpose":
            group = read_group(nouns, nouns.skip_adverbs(end + 1))
            return end + 1 if group is None else self._finish(replace(group, certain=False), subjects)
        if found.inner == "relative":
            return self._relative(found)
        return self._skip_denied(end) if found.inner == "drop" else end

    def _inner_verb(self, found: Complement, end: int, subjects: Subjects) -> int:
        """The verb after an object: of the object where it is perceived, else of the subject."""
        seen = found.verb in verb_list("perception") and bool(found.objects)
        if found.inner == "small clause":
            if found.verb == "help" or seen:
                return self._verb_phrase(end, found.objects if seen else subjects)
            return self._skip_denied(end)
        if not seen or found.objects[-1].end != found.end:
            return self._verb_phrase(end, subjects)
        return self._verb_phrase(end, found.objects) if found.objects[-1].animate else self._skip_denied(end)

    def _relative(self, found: Complement) -> int:
        """ "the bowl I was holding": the clause's missing object is the thing before it."""
        start = found.end + (self.nouns.word(found.end) in ("which", "that"))
        subject = find_subject(self.nouns, start)
        if subject is None:
            return self._skip_denied(start)
        count, before = len(self.deeds), self.subjects
        end = self._verb_phrase(subject[1], subject[0])
        moves = found.verb.split()[0] in verb_list("movers") and not found.place and count > 0
        for index in range(count, len(self.deeds)):
            deed = self.deeds[index]
            if not deed.object and deed.verb.split()[0] not in verb_list("no_object"):
                deed = replace(deed, object=self.namer.text(found.nouns[-1]), certain=False)
            if deed.place and moves and index == count:
                # "put the food I was holding on the table": the table is where it was put
                self.deeds[index - 1] = replace(self.deeds[index - 1], place=deed.place)
                deed = replace(deed, place="")
            self.deeds[index] = deed
        self.subjects = before
        return end
