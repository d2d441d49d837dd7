"""Whether events bear out a claim, by its words: an invention is a name, thing, place, number or time they lack.

Every word of meaning must be said by what is cited, as itself, as a synonym or, for a verb, by one that leaves things
in the same state. Beyond single words: places must be those of the thing, with the same preposition; a denial or a
question is no statement; who acts and whose a thing is must agree; times must be those of the events.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

from amr.language.lemmas import lemma, verb_forms, verbs, word_list
from amr.language.names import handle, may_open_as_name
from amr.language.states import state_of
from amr.records import WEARER, Evidence
from amr.retrieve.by_model import places, spans
from amr.retrieve.calibration import calibration
from amr.retrieve.relevance import speaks
from amr.retrieve.times import show_time
from amr.retrieve.words import Bag, bag_of_text
from amr.store.text import cjk_bigrams

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NEGATION = re.compile(
    r"\b(?:not|no(?!\s*[,.!])|never|nobody|nothing|none|nowhere|neither|nor|without|cannot|hardly)\b|n['’]t\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"(?:(?!\bbut\b|\bthen\b)[^.;!?,\n])+\??|but|then", re.IGNORECASE)
_REPORTS = re.compile(r"\b(?:ask|say|said|tell|told|wonder|want|talk|discuss|mention|quer)\w*|[\"“]", re.IGNORECASE)
_TIMES = re.compile(r"\b(\w+)\s+times\b|\b(twice|thrice)\b", re.IGNORECASE)
_NUMBER_WORDS = "two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {word: str(number) for number, word in enumerate(_NUMBER_WORDS.split(), 2)}
_NUMBERS |= {
    "twice": "2",
    "thrice": "3",
    "twenty": "20",
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "hundred": "100",
}
_PRONOUN = re.compile(r"\b(?:it|them|this|that|these|those)\b", re.IGNORECASE)
_SUBJECT = re.compile(
    r"^\W*(you|i|we|the wearer|[A-Z]\w*)(?:['’]\w+)?\s+"
    r"(?:(?:have|has|had|did|were|was|are|is|then|also|will|just)\s+)*(\w+)",
    re.IGNORECASE,
)
_MINE = r"(?:my|your|our)"
_THEIRS = r"(?:[A-Z][\w]*['’]s|his|her|their)"
_ENOUGH_CJK = 0.6


class Cited:
    """A cited piece of evidence, read: its words, and who acts in it."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.node_id = evidence.node.node_id

    @cached_property
    def text(self) -> str:
        """Everything that the event says, as one text."""
        payload = self.evidence.node.payload
        parts = [self.evidence.node.text, *payload.get("dialogue", []), *payload.get("objects", [])]
        parts += [str(person).replace("_", " ") for person in payload.get("persons", []) if person != WEARER]
        parts += [f"{thing} {place}" for thing, place in payload.get("places", {}).items()]
        for action in payload.get("actions", []):
            parts.append(" ".join(str(action.get(key, "")) for key in ("verb", "object", "spatial_relation")))
        for state in payload.get("states", []):
            parts.append(" ".join(str(state.get(key, "")).replace("_", " ") for key in ("verb", "object", "place")))
            parts.append(str(state.get("holder", "")).replace("_", " "))
        parts.append(str(payload.get("scene_type", "")))
        return "\n".join(part for part in parts if part.strip())

    @cached_property
    def bag(self) -> Bag:
        """The words of the event and of when it is."""
        node = self.evidence.node
        return bag_of_text("\n".join([self.text, show_time(node), spans.date_words(node)]))

    @cached_property
    def others(self) -> frozenset[str]:
        """Its words in any script."""
        return frozenset(word.lower() for word in _WORD.findall(self.text))

    @cached_property
    def persons(self) -> list[str]:
        """The handles of those in it."""
        return [str(person) for person in self.evidence.node.payload.get("persons", [])]

    @cached_property
    def deeds(self) -> list[tuple[str, str]]:
        """(verb, who does it) of the actions in it."""
        actions = self.evidence.node.payload.get("actions", [])
        return [(lemma(str(a.get("verb", "")).split(" ")[0]), str(a.get("actor", ""))) for a in actions]

    def says(self, word: str) -> bool:
        """Whether it says a word, itself or by another one for the same."""
        base, low = lemma(word), word.lower()
        bag = self.bag
        if {base, low} & bag.words or low in self.others or {base, low} & bag.pairs:
            return True
        if calibration().synonyms.get(base, frozenset()) & bag.words:
            return True
        state = state_of(base) if verb_forms(low) else None
        return state is not None and any(state_of(other) == state for other in bag.words)

    def says_something_of(self, claim: str) -> bool:
        """Whether it says any word of meaning of a claim."""
        return any(self.says(word) for word in _telling(claim)) or bool(set(cjk_bigrams(claim)) & self.bag.bigrams)


def unsupported_by(claim: str, cited: Sequence[Cited]) -> str:
    """Why the cited events do not bear a claim out; empty when they do."""
    for one in cited:
        claim = claim.replace(one.evidence.source or " ", " ")
    rest, wrong_time = spans.without_times(claim, [one.evidence.node for one in cited], "\n".join(_texts(cited)))
    if wrong_time:
        return f'the time "{wrong_time}" is not theirs'
    checks = (_number_lacking, _word_lacking, _place_lacking, _polarity_wrong, _actor_wrong, _owner_wrong)
    return next((reason for check in checks if (reason := check(rest, cited))), "")


def _texts(cited: Iterable[Cited]) -> list[str]:
    return [one.text for one in cited]


def _telling(claim: str) -> list[str]:
    """The words of a claim that must be said by the evidence; numbers are looked at apart."""
    skipped = calibration().asking.union(*map(word_list, ("stopwords", "adverbs", "hedges", "answering")))
    found = []
    for word in _WORD.findall(claim):
        low = word.lower().replace("’", "'").removesuffix("'s")
        plain = low in skipped or lemma(low) in skipped or low.endswith("n't") or low.partition("'")[0] in skipped
        if not (plain or low.isdigit() or low in _NUMBERS or _cjk(low) or low in places.WORDS):
            found.append(low)
    return found


def _plain(claim: str) -> list[str]:
    """All words of a claim but the smallest, for one that is made of words that most answers have."""
    small = word_list("stopwords") | word_list("interjections")
    words = [word.lower().replace("’", "'") for word in _WORD.findall(claim)]
    return [word for word in words if not ({word, word.partition("'")[0]} & small or _cjk(word))]


def _things(claim: str) -> list[str]:
    """Those of the telling words that are no verbs."""
    often = verbs().often_nouns
    return [word for word in _telling(claim) if not verb_forms(word) or lemma(word) in often or word in often]


def _cjk(word: str) -> bool:
    return any("\u3040" <= letter <= "\u9fff" or "\uac00" <= letter <= "\ud7af" for letter in word)


def _word_lacking(claim: str, cited: Sequence[Cited]) -> str:
    words = _telling(claim) or _plain(claim)
    for place, word in enumerate(words):
        spellings = [word, "".join(words[place : place + 2]), "".join(words[max(0, place - 1) : place + 1])]
        if not any(one.says(spelling) for one in cited for spelling in spellings):
            return f'nothing in them says "{word}"'
    grams = cjk_bigrams(claim)
    known = frozenset().union(*(one.bag.bigrams for one in cited))
    if grams and sum(gram in known for gram in grams) < _ENOUGH_CJK * len(grams):
        return "they do not say that"
    return "" if words or grams else "it says nothing"


def _number_lacking(claim: str, cited: Sequence[Cited]) -> str:
    """A number must be said by the events; "so many times" may also be how many of them tell of it."""
    counted = {next(filter(None, found.groups())).lower() for found in _TIMES.finditer(claim)}
    known = {_digits(word) for one in cited for word in _WORD.findall(one.text)}
    for word in _WORD.findall(claim):
        number = _digits(word)
        if not number or number in known:
            continue
        if word.lower() in counted and number == str(_telling_of(claim, cited)):
            continue
        return f'nothing in them says "{word}"'
    return ""


def _telling_of(claim: str, cited: Sequence[Cited]) -> int:
    """How many of the events say every word of a claim, but those of the place, which need not be said each time."""
    where = {place for _, place in places.in_text(claim)}
    words = [word for word in _telling(claim) if word not in where]
    return sum(all(one.says(word) for word in words) for one in cited)


def _digits(word: str) -> str:
    """The number that a word says, as digits; empty when it says none."""
    low = word.lower()
    return low.lstrip("0") or "0" if low.isdigit() else _NUMBERS.get(low, "")


def _place_lacking(claim: str, cited: Sequence[Cited]) -> str:
    """Each place must be said with the preposition of the claim, in an event that is about the same thing."""
    side = places.side_lacking(claim, " ".join(_WORD.findall(" ".join(_texts(cited)))))
    if side:
        return f'nothing in them says "{side}"'
    said = places.in_text(claim)
    named = {word for _, word in said}
    things = [word for word in _things(claim) if word not in named]
    for how, place in said:
        if not any(one.says(place) for one in cited):
            continue  # part of a longer name, which is looked at as a word
        fitting = [one for one in cited if one.says(place) and places.agree(how, place, one.text)]
        if not fitting:
            return f'they do not say "{how} the {place}"'
        about = [one for one in fitting if _PRONOUN.search(one.text) or any(one.says(thing) for thing in things)]
        if things and not about:
            return f"what they say of the {place} is about something else"
    return ""


def _polarity_wrong(claim: str, cited: Sequence[Cited]) -> str:
    """A denial must be a denial in the part of the evidence that is most alike; a statement no denial, no question."""
    persons = {part for one in cited for person in one.persons for part in person.split("_")}
    told = [part for one in cited for part in _CLAUSE.findall(one.text.replace("’", "'"))]
    for part in _CLAUSE.findall(claim.replace("’", "'")):
        alike = _most_alike({word for word in _telling(part) if word not in persons}, told)
        denies = _NEGATION.search(part) is not None
        if alike and all((_NEGATION.search(clause) is not None) != denies for clause in alike):
            return "they do not deny it" if denies else "they say the opposite"
        if alike and not _REPORTS.search(claim) and all(clause.endswith("?") for clause in alike):
            return "they only ask it"
    return ""


def _most_alike(words: set[str], clauses: Sequence[str]) -> list[str]:
    """The clauses that share most with these words; none where none shares any."""
    shared = [sum(bool({word, lemma(word)} & bag_of_text(clause).words) for word in words) for clause in clauses]
    most = max(shared, default=0)
    return [clause for clause, number in zip(clauses, shared, strict=True) if most and number == most]


def _actor_wrong(claim: str, cited: Sequence[Cited]) -> str:
    """Who does it must be one of those who do it in the events, where those tell."""
    found = _SUBJECT.match(claim)
    if not found or not verb_forms(found[2].lower()):
        return ""
    name = found[1]
    if name.lower() in ("you", "i", "we", "the wearer"):
        who = WEARER
    elif may_open_as_name(name):
        who = handle(name)
    else:
        return ""
    verb = lemma(found[2].lower())
    doers = {actor for one in cited for done, actor in one.deeds if done == verb and actor}
    if any(speaks(one.evidence.node, who) for one in cited) and _REPORTS.match(verb):
        return ""
    if not doers or any(who == doer or who in doer.split("_") for doer in doers):
        return ""
    return f"it is not {name} who does that in them"


def _owner_wrong(claim: str, cited: Sequence[Cited]) -> str:
    """What is said to belong to the wearer must not be somebody else's wherever it is named."""
    text = "\n".join(one.evidence.node.text for one in cited)
    mine = re.findall(rf"\b{_MINE}\s+(\w+)(?:\s+(\w+))?", claim, re.IGNORECASE)
    for thing in (word for pair in mine for word in pair if word.lower() in _things(claim)):
        named = [found.start() for found in re.finditer(rf"\b{re.escape(lemma(thing))}", text, re.IGNORECASE)]
        owned = [bool(re.search(rf"(?:\b{_THEIRS}\s+)(?:\w+\s+)?$", text[:start])) for start in named]
        if named and all(owned):
            return f"the {thing} is somebody else's in them"
    return ""
