"""What the actions of a clip leave its things in: where each is, who has it, what was done to it (AMR-Graph §5.3).

A clip is read in order of time, so that "it", and what is left out ("Put down."), is the thing in hand. Only what
the clip itself says counts: equal clips give equal states, whatever was seen before. What is done with an "it" that
the clip does not name is kept as `unresolved`, for a reader who knows the clip before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from amr.language.lemmas import word_list
from amr.language.names import handle, is_name, normalise_object, owner
from amr.language.states import GONE, HELD, PLACED, state_of
from amr.records import WEARER

State = dict[str, Any]

_PRONOUNS = frozenset(
    ("it", "them", "this", "that", "these", "those", "him", "he", "they", "one", "both", "both of them")
)
_NOBODYS = frozenset(("everything", "something", "anything", "nothing", "someone", "everyone", "self", "way", "wearer"))
_STUFF = frozenset(("everything", "thing", "stuff", "item", "belonging", "trash", "garbage", "rubbish", "bagful"))
_BOUGHT = re.compile(
    r"\b(?:things?|stuff|items?|everything) (?:that |which )?(?:i|we)(?:['’]ve)?(?: \w+)? (?:bought|purchased)\b", re.I
)
_MAY_LACK_OBJECT = frozenset(("put", "place", "throw", "toss", "hang", "set", "stuff", "insert"))
_SPATIAL = re.compile(
    r"(?:in|on|at|under|underneath|beneath|below|beside|behind|near|inside|between|against|above|next to|close to"
    r"|on top of|in front of|by|around|outside|onto|into|over|upstairs|downstairs|to)\b",
    re.IGNORECASE,
)
_IN_HAND = re.compile(
    r"\b(?:in|into|on) (?:(?:my|his|her|their|your|the|both|one|left|right|other) )*(?:hands?|palms?|arms?)\b"
)
_BROUGHT = re.compile(
    r"(?:(?:back|up|down|over|out|in|all the way) )*"
    r"(?:(?:to|into|onto|inside) (?!(?:me|him|her|them|us)$).+|upstairs|downstairs)$"
)
_CARRYING = frozenset(("bring", "carry", "take"))
_RECIPIENT = re.compile(r"\bto (?:the )?([^,]+?)(?= (?:in|on|at|by|from|with|for|and)\b|$)")
_FROM = re.compile(r"\s*\b(?:from|off of|off|out of|away from)\b.*", re.IGNORECASE)
_BACK = re.compile(
    r"^(?:back|away|down|up|over|again)\s+(?=(?:in|on|at|to|under|beside|behind|next|near|inside|into|onto|by)\b)"
)
_SOON = re.compile(r"\bI(?:['’]ll| will)\b")
_LATER = re.compile(r"\bwill\b|['’]ll\b")
_INTO = re.compile(r"(?:in|into|inside) (.+)$")
_WITH = re.compile(r"\bwith (?:a|an|the|my|some) ", re.IGNORECASE)
_MEANT = re.compile(
    r"\b(?:about to|going to|gonna|want(?:s|ed)? to|plan(?:s|ned|ning)? to|tr(?:y|ies|ied|ying) to|ready to"
    r"|prepar\w+ to|need(?:s|ed)? to|trying|intend\w*|decid\w+|consider\w*|think\w*|let me|should|would|could"
    r"|might|maybe|perhaps|hop(?:e|ing)|to (?:put|place|hang|hand|give|throw|take|get|pick))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Thing:
    """A thing as a look-up knows it, whose it is ("" for the wearer's own or nobody's), and what is in it.

    "A bottle of water" is a bottle, with water in it.
    """

    handle: str
    owner: str
    content: str = ""


_CONTAINERS = frozenset(
    """bag box bottle cup bowl can case pack packet package carton jar basket backpack suitcase pouch envelope bucket
    tray plate pot tin tube glass mug wallet purse handbag lunchbox crate""".split()  # noqa: SIM905
)
_UNKNOWN = Thing("", "")


@dataclass
class _Hands:
    """What one person has in hand, latest last, what they handled last, what they put that into, and whether a place
    was named for it."""

    held: list[Thing] = field(default_factory=list)
    handled: Thing | None = None
    container: Thing | None = None
    settled: bool = False

    def takes(self, thing: Thing) -> None:
        self.held = [*(one for one in self.held if one != thing), thing]

    def lets_go(self, thing: Thing) -> None:
        self.held = [one for one in self.held if one != thing]

    def it(self) -> Thing | None:
        """What "it" is: the thing in hand, else the last one handled."""
        return self.held[-1] if self.held else self.handled


@dataclass
class _Scene:
    """What is known while a clip is read: everybody's hands, the last thing opened and named, the last other person."""

    hands: dict[str, _Hands] = field(default_factory=dict)
    opened: str = ""
    person: str = ""
    named: Thing | None = None

    def of(self, actor: str) -> _Hands:
        return self.hands.setdefault(actor or WEARER, _Hands())


def states_of(events: Sequence[Mapping[str, Any]]) -> list[list[State]]:
    """The states that each event of one clip leaves things in; `events` are payloads in order of time.

    A state is {object, state, place, holder, verb, actor, owner}, with `resolved` true where the object was a pronoun
    or left out, and `certain` false where it was only meant or may be wrong. The object is "" where it is not known.
    """
    scene = _Scene()
    return [_of_event(event, scene) for event in events]


def _of_event(event: Mapping[str, Any], scene: _Scene) -> list[State]:
    done = event["modality"] in ("told", "seen")
    here = scene if done else _Scene()  # what is said about things resolves nothing in what is done
    found: list[State] = []
    for action in event["actions"]:
        found += _of_action(action, here, event)
    found = [state for index, state in enumerate(found) if not _was_before(state, found[:index])]
    acted = {state["object"] for state in found}
    for name, place in event.get("places", {}).items():
        thing = thing_of(name)
        if thing is not None and thing.handle not in acted and _SPATIAL.match(place) and _is_place(place):
            found.append(_state(thing, ("seen", place, ""), "", ""))
    things = [thing for name in event.get("objects", []) if (thing := thing_of(name)) is not None]
    if done and things and not found:
        scene.named = things[-1]
        if _WITH.search(event.get("text", "")) and WEARER in event["persons"]:
            scene.of(WEARER).takes(things[-1])
    others = [person for person in event["persons"] if person != WEARER and not person.startswith("voice_")]
    if done and others:
        scene.person = others[-1]
    return found


def _of_action(action: Mapping[str, Any], scene: _Scene, event: Mapping[str, Any]) -> list[State]:
    verb, actor = str(action.get("verb", "")), str(action.get("actor", ""))
    state = state_of(verb)
    if state is None:
        return []
    stuff = _stuff(action, state, scene)
    thing, resolved = _object(action, state, scene)
    if thing is None:
        return stuff
    place = _place(str(action.get("spatial_relation", "")), verb)
    result = _result(state, verb, actor, place, thing, scene)
    hands = scene.of(actor)
    vague = resolved and not actor and not hands.held and hands.settled  # "it was put …" of what has its place
    certain = not vague and (event["certain"] or _is_done(event, resolved))
    if thing.handle and (certain or state in HELD):  # what one is about to take up is "it" from then on
        _keep(result, thing, actor, scene)
    marks = {**({"resolved": True} if resolved else {}), **({} if certain else {"certain": False})}
    bought = "purchase" if thing.handle in _STUFF and _BOUGHT.search(event.get("text", "")) else thing.handle
    names = dict.fromkeys((thing.handle, thing.content or bought))
    return [*stuff, *({**_state(replace(thing, handle=name), result, verb, actor), **marks} for name in names)]


def _stuff(action: Mapping[str, Any], state: str, scene: _Scene) -> list[State]:
    """What becomes of all that somebody has in hand as they put "everything" or "the things" somewhere: it may be so.

    What they had in hand as the clip began is left open, as for "it".
    """
    verb, actor = str(action.get("verb", "")), str(action.get("actor", ""))
    head = normalise_object(str(action.get("object", ""))).rsplit(" ", 1)[-1]
    place = _place(str(action.get("spatial_relation", "")), verb)
    if head not in _STUFF or state not in PLACED or not place or _IN_HAND.search(place):
        return []
    hands = scene.of(actor)
    meant = [*hands.held] or [hands.handled if hands.handled and not hands.settled else _UNKNOWN]
    result = (state, place, "")
    return [
        {**_state(thing, result, verb, actor), "resolved": True, "certain": False}
        for thing in meant
        if thing.handle not in _STUFF
    ]


def _was_before(state: State, earlier: Sequence[State]) -> bool:
    """Whether a thing is only said to have been in hand: "put down the bag I was holding"."""
    same = (one for one in earlier if one["object"] == state["object"] and one["state"] in PLACED | {"given"})
    return state["state"] in HELD and not state.get("resolved") and next(same, None) is not None


def _is_done(event: Mapping[str, Any], resolved: bool) -> bool:
    """Whether what the reader of the one sentence doubts was done.

    Only "it" was unclear, or what a narrator did to "the bag I was holding"; a narrator's "I'll" is done at once.
    """
    text = event.get("text", "")
    if event["modality"] == "told":
        return not _MEANT.search(text) and (_SOON.search(text) is not None or not _LATER.search(text))
    return resolved and not _MEANT.search(text)


def _result(state: str, verb: str, actor: str, place: str, thing: Thing, scene: _Scene) -> tuple[str, str, str]:
    """(state, place, holder) after an action."""
    if state == "given":
        return state, "", _recipient(place, scene)
    if state in HELD or (state in PLACED and _IN_HAND.search(place)):
        brought = verb.split(" ", 1)[0] in _CARRYING and _BROUGHT.match(place) and not is_name(place.rsplit(" ", 1)[-1])
        holder = "" if actor in _PRONOUNS | {"she"} else actor or WEARER
        return (state if state in HELD else "held"), place if brought and not _IN_HAND.search(place) else "", holder
    if state in PLACED and not place and verb.endswith(" in") and scene.opened not in ("", thing.handle):
        return state, f"in the {scene.opened.replace('_', ' ')}", ""
    return state, place, ""


def _keep(result: tuple[str, str, str], thing: Thing, actor: str, scene: _Scene) -> None:
    """Remembers in whose hands the thing is now, and what was opened."""
    state, _, holder = result
    hands = scene.of(actor)
    if state in HELD or (state in PLACED and result[1]):
        hands.container = _container(result)
    if state in HELD or (state == "given" and holder):
        for hands in scene.hands.values():
            hands.lets_go(thing)
        scene.of(holder or actor).takes(thing)
    elif state in PLACED | GONE | {"given"}:
        scene.of(actor).lets_go(thing)
    hands.handled = thing
    hands.settled = state in PLACED and bool(result[1])
    if state == "open":
        scene.opened = thing.handle


def _leaves_out(action: Mapping[str, Any]) -> bool:
    """Whether an action without an object is done to the thing in hand: "Put down.", "threw onto the bed"."""
    verb, _, particle = str(action.get("verb", "")).partition(" ")
    place = str(action.get("spatial_relation", ""))
    if verb in ("hand", "give", "pass"):
        return _RECIPIENT.search(place) is not None
    return verb in _MAY_LACK_OBJECT and (
        particle in ("down", "back", "away", "aside", "in") or (not particle and bool(place))
    )


def _container(result: tuple[str, str, str]) -> Thing | None:
    """What a thing was put into, where that can be carried: "it" is then the box with the thing in it."""
    found = _INTO.match(result[1]) if result[0] in PLACED else None
    thing = thing_of(found[1]) if found else None
    return thing if thing is not None and thing.handle.rsplit("_", 1)[-1] in _CONTAINERS else None


def _object(action: Mapping[str, Any], state: str, scene: _Scene) -> tuple[Thing | None, bool]:
    """The thing acted on, and whether it was a pronoun or left out."""
    name = str(action.get("object", ""))
    if name.lower() not in _PRONOUNS and (name or not _leaves_out(action)):
        return (thing_of(name), False) if name else (None, False)
    hands = scene.of(str(action.get("actor", "")))
    holds_it = hands.container is not None and not hands.held and state not in HELD
    return (hands.container if holds_it else hands.it()) or scene.named or _UNKNOWN, True


@lru_cache(maxsize=16384)
def thing_of(name: str) -> Thing | None:
    """A thing by its name; None for a part of the body, a pronoun or nothing in particular."""
    known = normalise_object(name)
    head = known.rsplit(" ", 1)[-1]
    if not known or head in word_list("body_parts") | word_list("stopwords") | _NOBODYS | _PRONOUNS:
        return None
    whose = owner(name)
    _, of, inside = name.partition(" of ")
    content = handle(normalise_object(inside)) if of and head in _CONTAINERS else ""
    return Thing(handle(known), "" if whose == "your" else handle(whose) or whose, content)


def _place(relation: str, verb: str) -> str:
    """The place that an action names, without where the thing came from; empty where it names none."""
    place = _BACK.sub("", _FROM.sub("", relation.strip()))
    if not place and verb.endswith(" aside"):
        return "aside"
    return place if _is_place(place) else ""


def _is_place(place: str) -> bool:
    low = place.lower().strip(" .")
    return bool(low) and low.replace(" ", "-") not in word_list("vague_places")


def _recipient(place: str, scene: _Scene) -> str:
    """Who is given a thing; empty where that is not said, or is no person."""
    found = _RECIPIENT.search(place)
    if found is None:
        return ""
    name = found[1].strip()
    if name.lower() in ("me", "myself", "us", WEARER):
        return WEARER
    return scene.person if name.lower() in ("him", "her", "them") else handle(name)


def _state(thing: Thing, result: tuple[str, str, str], verb: str, actor: str) -> State:
    state, place, holder = result
    return {
        "object": thing.handle,
        "state": state,
        "place": place,
        "holder": holder,
        "verb": verb,
        "actor": actor,
        "owner": thing.owner,
    }
