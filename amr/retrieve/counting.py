"""How many times, how many people, how often, and what usually: distinct visible events, counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from amr.language.lemmas import content_lemmas, verb_forms
from amr.language.names import normalise_object
from amr.records import Node
from amr.retrieve import wording
from amr.retrieve.acts import Hit, find_acts, is_named, same_deed
from amr.retrieve.clauses import Act, Clauses
from amr.retrieve.occasions import likely_acts, on_occasion
from amr.retrieve.sequence import Reply, clause_events, follow
from amr.retrieve.who import BACK_MS, ON_MS, is_for_me, persons_beside, to_me

if TYPE_CHECKING:
    from amr.retrieve.query import Search

_QUOTES, _CITED = 5, 50
_AGAIN_MS = 3_000
_MOMENT, _MOMENT_MS = 20, 30_000
"""How many events after the clause's, and how long, still belong to the moment when something is usually done."""
_TOPIC_MS = 60_000
_TOPIC_LINES = 200
_CLOSE_MS = 15 * 60_000
_DAY_MS = 86_400_000
_KEEPS = frozenset(("keep", "leave", "store", "have", "carry"))
_NUMBERS = (
    "a|an|one", "two|both|a couple of|a pair of", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
)  # fmt: skip


def count(search: Search, asked: Clauses) -> Reply | None:
    """The answer to "how many" and "how often"; None where nothing was seen that could be counted."""
    if not asked.count or asked.usual or not asked.acts:
        return None
    act = asked.acts[0]
    if not is_named(act.object) and is_named(asked.wanted):
        act = replace(act, object=asked.wanted)
    hits = _deeds_done(search, act, asked)
    if not hits and len(asked.acts) > 1:  # "how many did I plug in to charge"
        second = asked.acts[1]
        thing = second.object if is_named(second.object) else asked.wanted
        hits = _deeds_done(search, replace(second, object=thing), replace(asked, main=""))
    hits = _before_clause(search, asked, hits)
    if not hits or " of " in asked.wanted:  # "rounds of chess" may be told as "I won again"
        hits = sorted(
            {hit.node.node_id: hit for hit in [*_on_topic(search, asked, act), *hits]}.values(),
            key=lambda hit: hit.node.in_time,
        )
    if not hits:
        return None
    if asked.count == "people":
        return _people(hits, asked.asks_actor)
    if asked.count == "rate":
        return _rate(hits)
    total = sum(_amount(hit) for hit in hits) if asked.count == "things" else len(hits)
    unit = ("time" if total == 1 else "times") if asked.count == "times" else asked.wanted
    return _told(f"{total} {unit}".strip(), hits)


def _deeds_done(search: Search, act: Act, asked: Clauses) -> list[Hit]:
    """The deeds to be counted, each once."""
    hits = likely_acts(search, act, asked.main)
    if asked.asks_actor and to_me(act):
        hits = [hit for hit in hits if is_for_me(hit)]
    return _distinct(hits, asked.count in ("times", "rate"), asked.count == "people")


def _before_clause(search: Search, asked: Clauses, hits: list[Hit]) -> list[Hit]:
    """Those that stand in time as the clause says, where its event is known."""
    anchor = next(iter(clause_events(search, asked)), None) if asked.clause_acts and hits else None
    if anchor is None:
        return hits
    if asked.order == "during":
        at = anchor.moment_ms
        return [hit for hit in hits if -BACK_MS <= hit.node.moment_ms - at <= ON_MS] or hits
    kept = [hit for hit in hits if (hit.node.in_time < anchor.in_time) == (asked.order == "before")]
    return [hit for hit in kept if not asked.close or _apart(hit.node, anchor) <= _CLOSE_MS]


def _on_topic(search: Search, asked: Clauses, act: Act) -> list[Hit]:
    """ "How many rounds of chess did I win?": "I won again.", told within a minute of words on chess."""
    words = content_lemmas(asked.wanted)
    rows = (
        search.snapshot.search_text(search.view.scope, " ".join(words), search.visible, _TOPIC_LINES) if words else []
    )
    nodes = search.snapshot.nodes([node_id for node_id, _ in rows]).values()
    lines = [node for node in nodes if set(words[-1:]) <= set(content_lemmas(node.text))]
    return [
        hit
        for hit in find_acts(search, replace(act, object="", place=""))
        if set(content_lemmas(str(hit.action["object"]))) & set(words) or not hit.action["object"]
        if any(_apart(line, hit.node) <= _TOPIC_MS for line in lines)
    ]


def _told(head: str, hits: Sequence[Hit]) -> Reply:
    quotes = "; ".join(wording.quote(hit.node) for hit in hits[:_QUOTES])
    more = f"; and {len(hits) - _QUOTES} more" if len(hits) > _QUOTES else ""
    return Reply(f"{head}: {quotes}{more}", [hit.node for hit in hits[:_CITED]])


def _distinct(hits: Sequence[Hit], times: bool, people: bool = False) -> list[Hit]:
    """Each deed once, though it is told twice: "I try to open the jar. I open the jar.", "I unlock the car door.".

    The same words again are another deed. What is only told of "it" counts where nothing names the thing: a number
    is wrong by one wrong guess. Of people each is counted once anyway.
    """
    kept: list[Hit] = []
    for hit in hits if people else [hit for hit in hits if not hit.resolved] or hits:
        last = kept[-1] if kept else None
        if last is not None and _apart(last.node, hit.node) <= _AGAIN_MS:
            if not _is_certain(last):
                kept.pop()
            elif times and _is_retold(last, hit):
                continue
        kept.append(hit)
    return kept


def _is_retold(first: Hit, second: Hit) -> bool:
    """Whether other words tell the same deed again, of the same place and persons."""
    places = {str(hit.action.get("spatial_relation", "")) for hit in (first, second)} - {""}
    persons = [set(hit.node.payload.get("persons", [])) for hit in (first, second)]
    return first.node.text != second.node.text and len(places) < 2 and persons[0] == persons[1]


def _is_certain(hit: Hit) -> bool:
    return bool(hit.node.payload.get("certain", True)) or not is_named(str(hit.action.get("object", "")))


def _apart(first: Node, second: Node) -> int:
    same = first.source_id == second.source_id
    return abs(second.moment_ms - first.moment_ms) if same else _DAY_MS


def _amount(hit: Hit) -> int:
    """How many things one deed was done to: "two eggs" are two."""
    words = str(hit.action.get("object", "")).lower()
    found = re.match(r"(\d+)\b", words)
    if found:
        return int(found[1])
    name = re.escape(words.split(" ", 1)[-1]) if words else ""
    for number, said in enumerate(_NUMBERS, 1):
        if re.match(rf"(?:{said})\b", words) or (name and re.search(rf"\b(?:{said}) {name}\b", hit.node.text.lower())):
            return number
    return 1


def _people(hits: Sequence[Hit], acting: bool) -> Reply | None:
    """Who did it, or whom it was done to or with, each once, the first time."""
    first: dict[str, Hit] = {}
    for hit in hits:
        for person in [str(hit.action["actor"])] if acting and hit.action.get("actor") else persons_beside(hit):
            first.setdefault(person, hit)
    if not first:
        return None
    names = [wording.person(person) for person in first]
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    return _told(f"{len(names)} ({listed})", list({hit.node.node_id: hit for hit in first.values()}.values()))


def _rate(hits: Sequence[Hit]) -> Reply:
    days = Counter(hit.node.time_ms // _DAY_MS for hit in hits if hit.node.time_ms is not None)
    total = f"{len(hits)} {'time' if len(hits) == 1 else 'times'}"
    if len(days) < 2:
        return _told(total, hits)
    each = round(len(hits) / len(days), 1)
    return _told(f"{total} on {len(days)} days, about {each:g} a day", hits)


def habit(search: Search, asked: Clauses) -> Reply | None:
    """What is usually done, where, or when something else is: the commonest of what was seen."""
    if not asked.usual or asked.order == "before":
        return None
    where = search.question.form == "where"
    told = _in_moments(search, asked) if asked.clause_acts and not where else _of_all(search, asked)
    if not told:
        return None
    name, hits = max(told.items(), key=lambda item: (len(item[1]), -item[1][0].node.moment_ms))
    times = f"{len(hits)} time" + ("" if len(hits) == 1 else "s")
    return _told(f"{name[:1].upper()}{name[1:]}, {times}", hits)


def _in_moments(search: Search, asked: Clauses) -> dict[str, list[Hit]]:
    """What is done in the moments of the clause, by its name."""
    verb = asked.acts[0].verb if asked.acts else ""
    told: dict[str, list[Hit]] = {}
    hits = find_acts(search, asked.clause_acts[0], asked.clause)
    for hit in hits:
        for name, found in _deeds(_moment(search, hit, hits), asked.actor, verb, hit).items():
            told.setdefault(name, []).append(found)
    return told


def _of_all(search: Search, asked: Clauses) -> dict[str, list[Hit]]:
    """ "Where do I usually put my keys?", "what do I usually drink?": all the deeds, by their places or things."""
    told: dict[str, list[Hit]] = {}
    form = search.question.form
    if not asked.acts or form not in ("where", "what"):
        return told
    act = asked.acts[0]
    if form == "where" and act.verb in _KEEPS:
        act = replace(act, verb="put")
    hits = find_acts(search, act, asked.main if act is asked.acts[0] else "")
    for hit in on_occasion(search, hits, frozenset(_nouns(asked.clause))) or hits:
        thing = str(hit.action.get("object", ""))
        place = wording.to_you(str(hit.action.get("spatial_relation", "")).lower())
        name = place if form == "where" else (normalise_object(thing) if is_named(thing) else "")
        if name and hit.placed:
            told.setdefault(name, []).append(hit)
    return told


def _nouns(clause: str) -> list[str]:
    return [word for word in content_lemmas(clause) if not any("b" in tags for _, tags in verb_forms(word))]


def _moment(search: Search, hit: Hit, hits: Sequence[Hit]) -> list[Node]:
    """An event with those right after it, up to the next time that it happens."""
    others = {one.node.node_id for one in hits}
    found = [hit.node]
    for node, _ in islice(follow(search, hit.node, True), _MOMENT):
        if node.node_id in others or _apart(hit.node, node) > _MOMENT_MS:
            break
        found.append(node)
    return found


def _deeds(nodes: Sequence[Node], actor: str, verb: str, clause: Hit) -> dict[str, Hit]:
    """What somebody does in a moment, each once: the thing where the verb is asked about, else verb and thing."""
    known = clause.action.get("verb"), clause.action.get("object")
    found: dict[str, Hit] = {}
    for node in nodes:
        for action in node.payload.get("actions", []):
            thing = normalise_object(str(action.get("object", "")))
            done = str(action.get("verb", ""))
            if (done, action.get("object")) == known:
                continue
            if (actor and action.get("actor") != actor) or not is_named(thing) or (verb and not same_deed(verb, done)):
                continue
            found.setdefault(thing if verb else f"{done} the {thing}", Hit(node, action))
    return found
