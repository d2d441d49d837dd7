"""Who did something, and to whom it was done: read off the deeds themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from amr.language.names import handle
from amr.language.states import state_of
from amr.records import WEARER
from amr.retrieve import wording
from amr.retrieve.acts import Hit
from amr.retrieve.clauses import Act, Clauses
from amr.retrieve.occasions import as_described, likely_acts
from amr.retrieve.sequence import Reply, clause_events
from amr.retrieve.wanted import wanted

if TYPE_CHECKING:
    from amr.retrieve.query import Search

BACK_MS, ON_MS = 5 * 60_000, 20 * 60_000
"""What happened "when we came home" began at most so long before, and so long after that."""
_SHOWN = 9
_ME = re.compile(r"\b(?:me|us)\b", re.IGNORECASE)
_TO = re.compile(r"\b(?:to|with|from|for|against) (?:the |my )?([^,]+?)(?= (?:in|on|at|by|from|with|for)\b|$)")
_KEEPER = re.compile(
    r"\s*who(?:['’]s got|['’]s holding| has(?: got)?| is holding| ended up with) (?:the|my|our)\b", re.IGNORECASE
)
_VAGUE = frozenset(("be", "do", "have", "go", "come", "get", "see", "know", "want", "like", "think"))
_NOBODY = frozenset(("", "someone", "somebody", "it", "he", "she", "they", "voice_unknown"))


def who(search: Search, asked: Clauses) -> Reply | None:
    """The person who did what a question names, or to whom it was done; None where no deed says so."""
    if _KEEPER.match(search.question.text):
        return _keeper(search)
    if search.question.form != "who" or not asked.acts:
        return None
    act = asked.acts[0]
    if not (act.object or act.place or (asked.asks_actor and act.verb not in _VAGUE)):
        return None
    for_me = to_me(act)
    found: list[tuple[Hit, list[str]]] = []
    hits = likely_acts(search, act, asked.main if len(asked.acts) == 1 else "")
    if asked.asks_actor and act.verb == "get":  # to get is rather to be given than to take
        hits = [hit for hit in hits if hit.action["verb"] == "receive"] or hits
    if not hits and asked.main.endswith(" for"):  # "who was I fetching it for": who got it
        hits = likely_acts(search, replace(act, verb="give", place=""), "")
    for hit in hits:
        persons = [str(hit.action.get("actor", ""))] if asked.asks_actor else persons_beside(hit)
        persons = [person for person in persons if person not in _NOBODY]
        if persons and (not for_me or is_for_me(hit)):
            found.append((hit, persons))
    found = _in_time(search, asked, found)
    if not asked.clause and found:
        described = as_described(search, [hit for hit, _ in found])
        found = [(hit, persons) for hit, persons in found if hit in described]
    if not found or asked.ordinal > len(found):
        return None
    hit, persons = found[asked.ordinal - 1] if asked.ordinal > 0 else found[-1]
    names = " and ".join(wording.person(person) for person in persons)
    others = [other.node for other, _ in found[::-1] if other is not hit]
    return Reply(f"{names}: {wording.quote(hit.node)}", [hit.node], more=others[:_SHOWN])


def _keeper(search: Search) -> Reply | None:
    """ "Who has the lamp (that I brought)?": to whom it was given last, or who took it up."""
    thing = wanted(search.question.text)
    if not thing.name:
        return None
    hits: list[Hit] = []
    for name in dict.fromkeys((thing.name, thing.content)):
        acts = [Act("", verb, name, "") for verb in ("give", "take", "hold")] if name else []
        hits += [hit for act in acts for hit in likely_acts(search, act)]
    held = [(hit, _holders(hit)) for hit in sorted(hits, key=lambda hit: hit.node.in_time)]
    others = [(hit, persons) for hit, persons in held if persons]
    if not others:
        return None
    hit, persons = others[-1]
    names = " and ".join(wording.person(person) for person in persons)
    return Reply(f"{names} {'has' if len(persons) == 1 else 'have'} it: {wording.quote(hit.node)}", [hit.node])


def _holders(hit: Hit) -> list[str]:
    """Who else has a thing after a deed; one does not ask who has what one has oneself."""
    given = state_of(str(hit.action.get("verb", ""))) == "given"
    if given and _ME.search(str(hit.action.get("spatial_relation", ""))):
        return []
    persons = persons_beside(hit) if given else [str(hit.action.get("actor", ""))]
    return [person for person in persons if person not in _NOBODY | {WEARER}]


def to_me(act: Act) -> bool:
    """Whether something was done to the wearer, or for them."""
    return _ME.search(act.place) is not None


def is_for_me(hit: Hit) -> bool:
    """Whether a deed of somebody else was done to the wearer, or does not say to whom."""
    place = str(hit.action.get("spatial_relation", ""))
    return hit.action.get("actor") != WEARER and (_ME.search(place) is not None or not _TO.search(place))


def persons_beside(hit: Hit) -> list[str]:
    """The persons on the other side of a deed: who was given something, else whom the event names beside its actor."""
    named = [str(person) for person in hit.node.payload.get("persons", [])]
    others = [person for person in named if person not in (WEARER, hit.action.get("actor"))]
    to = _TO.search(str(hit.action.get("spatial_relation", "")))
    given = [person for person in others if to and person in handle(to[1])]
    return given or (others if state_of(str(hit.action.get("verb", ""))) == "given" or not to else [])


def _in_time(search: Search, asked: Clauses, found: Sequence[tuple[Hit, list[str]]]) -> list[tuple[Hit, list[str]]]:
    """Those that stand in time as the clause says, where its event is known; all where it is not."""
    anchor = next(iter(clause_events(search, asked)), None) if asked.clause and found else None
    if anchor is None:
        return list(found)
    at = anchor.moment_ms

    def fits(hit: Hit) -> bool:
        apart = hit.node.moment_ms - at
        if asked.order == "during":
            return -BACK_MS <= apart <= ON_MS
        return apart > 0 if asked.order == "after" else apart < 0

    kept = [one for one in found if fits(one[0])]
    return (kept[:1] if asked.order == "after" and not asked.ordinal else kept) or list(found)
