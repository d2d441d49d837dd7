"""Where a thing was last known to be: the latest state that the visible events tell of the thing that is meant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from amr.language.lemmas import lemma, singular, verb_forms, word_list
from amr.language.names import handle
from amr.language.states import GONE, HELD, PLACED, state_of
from amr.records import WEARER, Node, ObjectState
from amr.retrieve.anchors import object_handles
from amr.retrieve.calibration import calibration
from amr.retrieve.naming import names_of
from amr.retrieve.question import Question
from amr.retrieve.relevance import Candidate
from amr.retrieve.sightings import Told, sightings
from amr.retrieve.surroundings import completed, room
from amr.retrieve.wanted import Wanted, wanted

if TYPE_CHECKING:
    from amr.retrieve.query import Search

_JUDGED = 40
_SAME_MOMENT_MS = 60_000
_STRETCH_MS = 900_000
_GOES_ON_MS = 120_000
_HELD_MS = 120_000
_DESCRIBED = 0.5
_PUTTING = frozenset(("do", "end", "dump", "stash", "stow", "stick", "pop", "ditch", "tuck"))
_OTHER = re.compile(r"\b(?:other|another)\b", re.IGNORECASE)
_MINE = r"\bmy (?:\w+ )?{}"
_OWNERS = frozenset(("his", "her", "their", "your"))
_PLAIN_VERBS = frozenset(("put", "place", "leave", "set", "lay", "keep", "be", "do", "see", "have", "go", "last"))


@dataclass
class Known:
    """Where a thing is: its state, the event that tells it, everything cited, and a room to add ("" for none)."""

    state: ObjectState
    node: Node
    cited: list[Candidate]
    room: str


def last_known(search: Search, name: str, best: float) -> Known | None:
    """What the visible events say last about a thing; None when the memory has none like it or says nothing.

    `best` is the relevance of the best evidence for the question, which decides whether the thing is known at all.
    """
    question = search.question
    thing = wanted(question.text)
    thing = _as_known(search, thing if thing.name == name else Wanted(name))
    found = _told_of(search, thing)
    if thing.others and not any(_in_full(one, thing) for one in found):
        thing = replace(thing, name=thing.others[0], others=())
        found = _told_of(search, thing)
    found = _together(_first_one(question, found), thing)[:_JUDGED]
    _judge(search, found)
    most = max((one.relevance for one in found), default=0.0)
    if not found or (max(best, most) < calibration().threshold and not _is_known(thing, found)):
        return None
    return _known(search, name, _last(question, _described(question, found), _now(search)), found)


def _told_of(search: Search, thing: Wanted) -> list[Told]:
    """What is told of the thing that is meant, latest first."""
    question = search.question
    told = [one for one in sightings(search, _handles(search, thing)) if one.tells and _may_be(thing, question, one)]
    return [one for one in _same_thing(told, thing) if _counts(thing, question, one)]


def _as_known(search: Search, thing: Wanted) -> Wanted:
    """The thing without what it is like or was done to it, where nothing is kept under that: "half-eaten apple"."""
    name = thing.name
    while " " in name and not object_handles(search.snapshot, search.view.scope, name):
        first, rest = name.split(" ", 1)
        if "-" not in first and not any("n" in tags for _, tags in verb_forms(first)):
            return thing
        name = rest
    return replace(thing, name=name)


def _is_known(thing: Wanted, found: Sequence[Told]) -> bool:
    """Whether an event is about the thing itself, a red mug if one is asked for, whatever else the question tells."""
    return any(one.sure and _in_full(one, thing) for one in found)


def _now(search: Search) -> int:
    """The moment of asking: the as-of, else that of the last visible event."""
    if search.view.as_of is not None:
        return search.view.as_of
    return int(search.snapshot.moments(search.visible[-1:], search.view)[0])


def _handles(search: Search, thing: Wanted) -> list[str]:
    """The handles that the thing may be kept under: its own, its last word alone, what is in it."""
    head = thing.name.rsplit(" ", 1)[-1]
    names = dict.fromkeys([thing.name, thing.content, thing.content.rsplit(" ", 1)[-1]])
    known = [found for one in names if one for found in object_handles(search.snapshot, search.view.scope, one)]
    return list(dict.fromkeys([*known, handle(head)]))


def _same_thing(found: Sequence[Told], thing: Wanted) -> list[Told]:
    """Those that name the thing in full, and those after one of them that only go on about "the box".

    Where none does: those that name what is in it, else all.
    """
    for names in (_counted, _in_full, _names_content):
        if any(names(one, thing) for one in found):
            break
    else:
        return list(found)
    kept: list[Told] = []
    for one in reversed(found):
        goes_on = kept and one.moment[0] - kept[-1].moment[0] <= _GOES_ON_MS
        if (goes_on and _refers_back(one, thing)) or names(one, thing):
            kept.append(one)
    return kept[::-1]


def _refers_back(one: Told, thing: Wanted) -> bool:
    """Whether it may be the thing named before: "it" or "the box", not "some boxes"; its content only as put down."""
    head, known = thing.name.rsplit(" ", 1)[-1], one.object.rsplit("_", 1)[-1]
    if known != head and one.state not in PLACED | {"given"}:
        return False
    said = re.findall(r"\b(?:the|this|that|these|those|my)\b([^.,]*)", one.node.text.lower())
    return one.resolved or any(known in map(singular, re.findall(r"[a-z]+", words)) for words in said)


def _in_full(one: Told, thing: Wanted) -> bool:
    """Whether the event names the thing with all that the question names it by: what is in it, and whose it is."""
    known, asked = one.object.split("_"), handle(thing.name).split("_")
    named = all(_has(word, set(known)) for word in asked[:-1])
    named = named or any(
        tuple(known[-len(last) :]) == last and must <= set(known) for last, must in names_of(tuple(asked))[1:]
    )
    holds = not thing.content or (_names_content(one, thing) and thing.name.rsplit(" ", 1)[-1] in _words(one))
    return named and holds and _is_theirs(one, thing)


def _counted(one: Told, thing: Wanted) -> bool:
    """Whether the event also says how many there are, as the question does: "two boxes"."""
    many = rf"\b(?:{thing.number}|both)(?: of)?((?: \w+){{1,3}})"
    said = re.findall(many, one.node.text.lower()) if thing.number else []
    head = thing.name.rsplit(" ", 1)[-1]
    return any(head in map(singular, words.split()) for words in said) and _in_full(one, thing)


def _is_theirs(one: Told, thing: Wanted) -> bool:
    """Whether it is told to be of the person named, where one is: "Nora's phone", Nora's "her phone"."""
    whose = thing.owner in ("", "my", *_OWNERS)
    return whose or one.owner == thing.owner or (one.owner in _OWNERS and one.actor == thing.owner)


def _names_content(one: Told, thing: Wanted) -> bool:
    """Whether the event names what is in the thing, by its last word or another name for it."""
    if not thing.content:
        return False
    told = _words(one)
    return any({singular(word) for word in last} <= told for last, _ in names_of(tuple(thing.content.split(" "))))


def _last_word(name: str) -> str:
    return re.escape(name.rsplit("_", 1)[-1])


def _words(one: Told) -> set[str]:
    return {singular(word) for word in re.findall(r"[a-z]+", one.node.text.lower())}


def _has(word: str, words: set[str]) -> bool:
    also = calibration().synonyms.get(word, frozenset())
    return word in words or bool(also & words) or word in calibration().loose


def _first_one(question: Question, found: list[Told]) -> list[Told]:
    """Without "the other box" and "another box", where it is told what became of the box itself."""
    if _OTHER.search(question.text):
        return found
    kept = [one for one in found if one.resolved or not _OTHER.search(one.node.text)]
    return kept if kept and (kept[0].place or kept[0].state == "given") else found


def _together(found: list[Told], thing: Wanted) -> list[Told]:
    """Those of events that tell of all the things asked for, where there are any."""
    heads = {other.rsplit(" ", 1)[-1] for other in thing.others}
    both = [
        one
        for one in found
        if heads and heads <= {state["object"].rsplit("_", 1)[-1] for state in one.node.payload.get("states", [])}
    ]
    return both or found


def _may_be(thing: Wanted, question: Question, one: Told) -> bool:
    """Whether it may be the thing asked for: not somebody else's, where mine or nobody's is."""
    others = one.owner not in ("", WEARER)
    if thing.owner in ("", "my"):
        return not (others and (thing.owner == "my" or question.subject == WEARER))
    if (
        not others
        and thing.owner not in _OWNERS
        and re.search(_MINE.format(_last_word(one.object)), one.node.text.lower())
    ):
        return False  # "my phone" is not Nora's
    return not others or one.owner in (thing.owner, *_OWNERS) or thing.owner in _OWNERS


def _counts(thing: Wanted, question: Question, one: Told) -> bool:
    """Whether what happened counts for the question: what others wear and unpack is theirs, where mine is asked for."""
    mine = thing.owner == "my" or question.subject == WEARER
    return not mine or one.actor in (WEARER, "") or one.state not in ("worn", "taken_out", "consumed")


def _judge(search: Search, found: Sequence[Told]) -> None:
    """Fills in how far each bears on the question; the event that names the thing speaks for what follows."""
    ids = sorted({node.node_id for one in found for node in (one.node, *one.beside)})
    candidates = {candidate.node.node_id: candidate for candidate in search.judged(ids, {})}
    for one in found:
        one.cited = [candidates[i] for i in dict.fromkeys(node.node_id for node in (one.node, *one.beside))]
        one.relevance = max(candidate.relevance for candidate in one.cited)


def _described(question: Question, found: list[Told]) -> list[Told]:
    """From the latest stretch of time that fits what the question says of the thing: "the bag I carried upstairs"."""
    said = [term for term in question.terms if not term.asked and term.word not in word_list("directions")]
    if not said:
        return found
    stretches: list[list[Told]] = []
    for one in found:
        if not stretches or stretches[-1][-1].moment[0] - one.moment[0] > _STRETCH_MS:
            stretches.append([])
        stretches[-1].append(one)
    for stretch in stretches:
        fit = max(candidate.features.get("aside", 0.0) for one in stretch for candidate in one.cited)
        if fit >= _DESCRIBED:
            return stretch
    return found


def _last(question: Question, found: Sequence[Told], now: int) -> Told:
    """The state to believe, of some told latest first."""
    sure = next((one for one in found if one.sure), found[0])
    newest = found[0]
    open_end = sure.state in HELD or (sure.state in PLACED and not sure.place)
    if open_end and newest is not sure and newest.place and _soon(sure, newest):
        return newest  # what one holds and is about to put down is put down, unless something says otherwise
    if (sure.state in PLACED and sure.place) or sure.state == "given":
        return sure
    verb = _verb(question)
    recent = [one for one in found if found[0].moment[0] - one.moment[0] <= _STRETCH_MS and one.place and one.sure]
    same = next((one for one in recent if lemma(one.verb.split(" ")[0]) == verb), None)
    if same is not None and verb and verb not in _PLAIN_VERBS:  # "where did I hang it" asks for where it was hung
        return same
    puts = verb in _PUTTING or state_of(verb) in PLACED
    return _put_before(found, sure, now) if puts and sure.state in HELD else sure


def _put_before(found: Sequence[Told], held: Told, now: int) -> Told:
    """Where a thing was put before it was taken up for a moment long past: nobody holds a thing for long."""
    if now - held.moment[0] < _HELD_MS:
        return held
    earlier = (one for one in found if one.sure and one.place and one.state in PLACED and one.moment < held.moment)
    return next((one for one in earlier if held.moment[0] - one.moment[0] <= _STRETCH_MS), held)


def _verb(question: Question) -> str:
    """The verb of "where did I hang it", as its lemma."""
    found = re.search(r"\bdid (?:i|we) (?:last |first |just |finally )?([a-z]+)", question.text.lower())
    return lemma(found[1]) if found else ""


def _soon(first: Told, second: Told) -> bool:
    apart = second.node.moment_ms - first.node.moment_ms
    return 0 <= apart <= _SAME_MOMENT_MS and first.node.source_id == second.node.source_id


def _known(search: Search, name: str, one: Told, found: Sequence[Told]) -> Known:
    place, more = completed(search, one, found) if one.state in PLACED else (one.place, [])
    where, entered = room(search, one) if one.sure and one.state in PLACED | {"seen"} | GONE else ("", None)
    known = {candidate.node.node_id for candidate in one.cited}
    beside = [node for node in [*more, *([entered] if entered else [])] if node.node_id not in known]
    cited = [*one.cited, *search.judged([node.node_id for node in beside], {})] if beside else one.cited
    state = "held" if one.state == "taken_out" else one.state
    holder = one.holder or None
    return Known(
        ObjectState(name, state, place or None, holder, one.node.t_start_ms or 0, one.node.node_id),
        one.node,
        list(cited),
        where,
    )
