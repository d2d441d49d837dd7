"""The events in which somebody does what a question names: the same deed, the same thing, the same place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from amr.language.lemmas import content_lemmas, lemma, singular, verb_list, verbs, word_list
from amr.language.names import handle, normalise_object, owner
from amr.language.states import PLACED, state_of, verbs_of
from amr.records import WEARER, Node
from amr.retrieve.anchors import object_handles
from amr.retrieve.calibration import calibration
from amr.retrieve.clauses import Act
from amr.retrieve.naming import same_thing
from amr.retrieve.words import bag_of

if TYPE_CHECKING:
    from amr.retrieve.query import Search

Ids = NDArray[np.int64]

_SAME_DEED = frozenset(
    ("open", "closed", "on", "off", "folded", "thrown_away", "lost", "consumed", "worn", "given", "taken_out", "broken")
)
"""States that any verb of the class brings about alike; "hold" and "take", or "put" and "move", are not alike."""

_PURPOSE = re.compile(r"\bfor (?:(?:the|a|an|my|our|some) )?[a-z]+\b")
"""What a thing was for, "an egg for the cake", is seldom told with the deed."""
_IN = re.compile(r"(?:\w+ )?(?:in|into|inside)\b")
_TAKES = frozenset(("take", "get", "receive", "accept", "borrow", "grab", "collect"))
_SOURCE = re.compile(r"\bfrom (?:the |my )?([^\W_]+?)(?:['’]s (?:hands?|arms?))?$")
_RECEIVER = re.compile(r"\bto (?:the |my )?([A-Z][^\W_]+)")
_GIVEN_TO_ME = re.compile(
    r"\b(?:the|a|an|some) (?P<thing>[a-z][a-z -]*?) (?:that |which )?(?P<giver>[A-Z][a-z]+) (?:had |just )?"
    r"(?:handed|gave|passed|lent|given)(?: to)? me\b"
)
_PRONOUNS = word_list("unresolved") | word_list("thing_pronouns")
_DEPTH, _LATEST = 200, 2_000


@dataclass(frozen=True)
class Hit:
    """An event with the action in it that is meant.

    `placed` says whether the place asked for is named, too, `resolved` whether the thing is only an "it" of the event.
    """

    node: Node
    action: dict[str, Any]
    placed: bool = False
    resolved: bool = False


def find_acts(search: Search, act: Act, said: str = "", within: Ids | None = None) -> list[Hit]:
    """Every visible event, or every one of those `within`, that does this, in order of time.

    What is only said to be done does not count. An act without a thing, such as "we came home", is looked for by
    its verb and place. The other words of the clause as it was `said` must be told in the event or right around it.
    """
    rest = _rest(act, said)
    if not is_named(act.object) and (act.verb in verb_list("report") or act.verb == "be"):
        return []
    nodes = search.snapshot.nodes(_ids(search, act, search.visible if within is None else within))
    found = [hit for node in nodes.values() if (hit := hit_of(node, act)) is not None]
    return sorted(_told_with(search, found, rest), key=lambda hit: hit.node.in_time)


def _rest(act: Act, said: str) -> frozenset[str]:
    """The words with a meaning in a clause that are not in the act as it was read."""
    read = frozenset(content_lemmas(f"{act.actor.replace('_', ' ')} {act.verb} {act.object} {act.place}"))
    return frozenset(content_lemmas(_PURPOSE.sub(" ", said))) - read - calibration().asking - calibration().loose


def _told_with(search: Search, hits: list[Hit], words: frozenset[str]) -> list[Hit]:
    """The hits around which all these words are told, in any of their forms."""
    if not words or not hits:
        return hits
    known = {word: {word, *calibration().synonyms.get(word, ())} for word in words}
    kept = []
    for candidate in search.judged([hit.node.node_id for hit in hits], {}):
        told = frozenset().union(*(bag_of(node).words for node in (candidate.node, *candidate.nearby)))
        if all(also & told for also in known.values()):
            kept.append(candidate.node.node_id)
    return [hit for hit in hits if hit.node.node_id in kept]


def around(search: Search, node: Node, before_ms: int, after_ms: int) -> Ids:
    """The visible events from so long before one until so long after it."""
    at = search.snapshot.moments(search.visible, search.view) - node.moment_ms
    return search.visible[(at >= -before_ms) & (at <= after_ms)]


def is_named(name: str) -> bool:
    """Whether these words name a thing, rather than stand for one or ask for it."""
    return bool(name) and name.lower() not in _PRONOUNS and name.lower() not in ("something", "anything", "thing")


def _ids(search: Search, act: Act, within: Ids) -> Sequence[int]:
    """The events that may do it: those that mention a thing whose name ends like this one's, or share words."""
    if is_named(act.object):
        last = act.object.split()[-1]
        wanted = [normalise_object(name) for name in (act.object, last)]
        handles = {one for name in wanted for one in object_handles(search.snapshot, search.view.scope, name)}
        found = search.mentioning(sorted(handles))
        return [int(i) for i in found[np.isin(found, within, assume_unique=True)]]
    verbs_meant = sorted(verb_list("walks")) if _is_going(act.verb) else same_verbs(act.verb)
    if act.actor not in ("", WEARER):
        within = within[np.isin(within, search.mentioning([act.actor], "person"), assume_unique=True)]
    words = " ".join([*(word for verb in verbs_meant for word in verb_words(verb)), *content_lemmas(act.place)])
    if not content_lemmas(act.place):
        return [int(node_id) for node_id in search.snapshot.latest_with(search.view.scope, words, within, _LATEST)]
    rows = search.snapshot.search_text(search.view.scope, words, within, _DEPTH)
    return [node_id for node_id, _ in rows]


def same_verbs(verb: str) -> list[str]:
    """The verbs that a deed may be told with."""
    state = state_of(verb)
    return [verb, *(sorted(verbs_of(state) - {verb}) if state in _SAME_DEED else ())]


def verb_words(verb: str) -> list[str]:
    """The forms of a verb, by which a text that has it is found."""
    base = verb.split(" ", 1)[0]
    return sorted(form for form, found in verbs().forms.items() if any(base == known for known, _ in found))


def hit_of(node: Node, act: Act) -> Hit | None:
    """How an event does this, to this thing if it names one; None if it does not."""
    if node.payload.get("modality") == "heard":
        return None
    wanted = _name(act.object)
    for action in _told(node):
        if wanted and not any(same_thing(wanted, name) for name in _names(str(action["object"]), act.verb)):
            continue
        if _does(act, action) and _owns(act, action):
            placed = same_place(act.place, str(action.get("spatial_relation", "")), node)
            return Hit(node, action, placed, bool(action.get("resolved")))
    return None


def _name(thing: str) -> tuple[str, ...]:
    return tuple(handle(normalise_object(thing)).split("_")) if is_named(thing) else ()


@lru_cache(maxsize=4096)
def _names(thing: str, verb: str) -> tuple[tuple[str, ...], ...]:
    """What a thing as told may be called: "bag of coffee" is a bag and a coffee bag, an oven door opens the oven."""
    name = _name(thing)
    if not name:
        return ()
    found = [name]
    head, of, rest = thing.partition(" of ")
    if of:
        found.append((*_name(rest), *_name(head)))
    if len(name) > 1 and name[-1] == "door" and state_of(verb) in ("open", "closed"):
        found.append(name[:-1])
    return tuple(found)


def _told(node: Node) -> list[dict[str, Any]]:
    """The actions of an event, those whose "it" was resolved, with the thing in its place, and what they imply."""
    actions = [{"object": "", **action} for action in node.payload.get("actions", [])]
    resolved = [state for state in node.payload.get("states", []) if state.get("resolved")]
    for state in resolved:
        for action in list(actions):
            if action.get("verb") == state.get("verb") and not is_named(str(action["object"])):
                thing = str(state["object"]).replace("_", " ")
                actions.append({**action, "object": thing, "resolved": True})
    return [*actions, *_handed(node), *(other for action in actions for other in _other_side(node, action))]


def _handed(node: Node) -> list[dict[str, Any]]:
    """What a clause that only describes tells: "the coin that Nora handed me"."""
    return [
        {"actor": handle(found["giver"]), "verb": "give", "object": found["thing"], "spatial_relation": "to me"}
        for found in _GIVEN_TO_ME.finditer(node.text)
    ]


def _other_side(node: Node, action: dict[str, Any]) -> list[dict[str, Any]]:
    """A giving as seen by the other: who "took the parcel from the courier" was given it by the courier."""
    verb, place = str(action.get("verb", "")), str(action.get("spatial_relation", ""))
    actor, persons = str(action.get("actor", "")), node.payload.get("persons", [])
    source = _SOURCE.search(place) if verb.split(" ", 1)[0] in _TAKES else None
    if source is not None and handle(source[1]) in persons and handle(source[1]) != actor:
        to = "to me" if actor == WEARER else f"to {actor.title()}"
        return [{**action, "actor": handle(source[1]), "verb": "give", "spatial_relation": to}]
    receiver = _RECEIVER.search(place) if state_of(verb) == "given" else None
    if receiver is not None and handle(receiver[1]) in persons and handle(receiver[1]) != actor:
        return [{**action, "actor": handle(receiver[1]), "verb": "receive", "spatial_relation": ""}]
    return []


def _does(act: Act, action: dict[str, Any]) -> bool:
    told = str(action.get("actor", ""))
    if act.actor and told != act.actor:
        return False
    return same_deed(act.verb, str(action.get("verb", "")), str(action.get("spatial_relation", "")))


def _owns(act: Act, action: dict[str, Any]) -> bool:
    """Lucia's phone is not mine, and not Tasha's."""
    asked = owner(act.object)
    return not asked or owner(str(action["object"])).lower() in (asked.lower(), "")


@lru_cache(maxsize=4096)
def same_deed(asked: str, told: str, place: str = "") -> bool:
    """Whether a caption's verb, with the place it names, does what the verb of a question says.

    "Put down" is "place" and "set", but neither "put in the drawer" nor "put on" of clothes.
    """
    if asked.endswith(" down") and _IN.match(place):
        return False
    if asked == told or (_is_going(asked) and told.split(" ", 1)[0] in verb_list("walks")):
        return True
    mine, theirs = state_of(asked), state_of(told)
    if mine is not None and mine == theirs and mine in _SAME_DEED:
        return True
    if mine != theirs and not {mine, theirs} <= PLACED:
        return False
    first, second = asked.split(" ", 1)[0], told.split(" ", 1)[0]
    if mine is None and asked != first and told != second:
        return False  # "look for" is not "look at"
    return first == second or lemma(second) in calibration().synonyms.get(lemma(first), frozenset())


def _is_going(verb: str) -> bool:
    """ "Go" is walking, running and every other way of getting somewhere."""
    return verb.split(" ", 1)[0] == "go"


def same_place(asked: str, told: str, node: Node) -> bool:
    """Whether a place as told names the place asked for; where none is asked for, any is right."""
    wanted = _place_words(asked)
    if not wanted:
        return True
    words = _place_words(told)
    known = words | frozenset().union(*(calibration().synonyms.get(word, frozenset()) for word in words))
    persons = frozenset(str(person).split("_")[0] for person in node.payload.get("persons", []))
    return bool(wanted & (known | (persons if told else frozenset())))


def _place_words(place: str) -> frozenset[str]:
    return frozenset(singular(word) for word in content_lemmas(place)) - calibration().attributes - calibration().loose


def nearest(hits: Sequence[Hit]) -> list[Hit]:
    """Those that name the place asked for, if any does; else all."""
    placed = [hit for hit in hits if hit.placed]
    return placed or list(hits)
