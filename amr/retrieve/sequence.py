"""What came right after or before something, and the first or last time: read along the temporal channel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from amr.language.lemmas import verb_list, word_list
from amr.language.names import handle, normalise_object, owner
from amr.language.states import state_of
from amr.records import WEARER, Node, Step
from amr.retrieve import wording
from amr.retrieve.acts import Hit, around, find_acts, hit_of, is_named, nearest
from amr.retrieve.anchors import object_handles
from amr.retrieve.calibration import calibration
from amr.retrieve.clauses import Act, Clauses
from amr.retrieve.occasions import likely_acts
from amr.retrieve.times import show_time

if TYPE_CHECKING:
    from amr.retrieve.query import Search

_FOLLOWING = 8
"""How many events further the second deed of "folding it and putting it away" may be."""
_REACH = 40
"""How many events from the clause's the one asked about may be."""
_READ = 20
"""How many events are read at once."""
_SEVERAL = 3
_CLOSE_MS, _LONG_MS = 5 * 60_000, 3 * 3_600_000
"""How far from the clause's event a deed may be that is done "right" after it, and one that is done after it."""
_SHOWN = 10
_RECENT = 4
_WORDS_MS = 20_000
_HANDLED = re.compile(
    r"\b(?:did|was|were) (?:doing )?with (?:the |my |our |a |an )?(?P<thing>[\w' -]+)$", re.IGNORECASE
)
_IN_HAND = frozenset(("held", "taken_out"))
_STATES = frozenset(("be", "hold", "have", "wear"))
_SLIGHT = frozenset(
    (
        "speak",
        "talk",
        "chat",
        "listen",
        "turn",
        "look",
        "stand",
        "sit",
        "nod",
        "smile",
        "glance",
        "stare",
        "lean",
        "bend",
        "raise",
        "lower",
    )
)
_GOES = frozenset(("go", "come", "be", "end", "end up", "land"))


@dataclass
class Reply:
    """An answer in words, the events that it rests on, the one that answers first, and the hops that reached them.

    `more` are further events to show after those, in their order.
    """

    text: str
    cited: list[Node]
    paths: dict[int, list[Step]] = field(default_factory=dict)
    more: list[Node] = field(default_factory=list)


def in_sequence(search: Search, asked: Clauses) -> Reply | None:
    """The answer to a question about what came before, after or during something, None where it asks nothing such."""
    if not asked.order or not asked.clause or search.question.form not in ("what", "where", "said"):
        return None
    for anchor in clause_events(search, asked):
        reply = _said(search, asked, anchor) if search.question.form == "said" else _done(search, asked, anchor)
        if reply is not None:
            return reply
    return None


def _done(search: Search, asked: Clauses, anchor: Node) -> Reply | None:
    handled = _HANDLED.search(asked.main)
    if handled is not None:
        return _handled(search, asked, anchor, handled["thing"])
    if search.question.form == "where" and not asked.acts:  # "Where was I …": where one had gone
        asked = replace(asked, acts=(Act(asked.actor, "go", "", ""),))
    return _main_deed(search, asked, anchor) if asked.acts else _next_deed(search, asked, anchor)


def _handled(search: Search, asked: Clauses, anchor: Node, thing: str) -> Reply | None:
    """ "What did I do with the lamp before …": the nearest event with it, and what was then done to "it"."""
    handles = object_handles(search.snapshot, search.view.scope, normalise_object(thing))
    ids = search.mentioning(sorted(handles), "object")
    before = asked.order == "before"
    nodes = sorted(search.snapshot.nodes([int(node_id) for node_id in ids]).values(), key=lambda node: node.in_time)
    nodes = [node for node in nodes if _acts(node, asked.actor) and node.node_id != anchor.node_id]
    nodes = [node for node in nodes if not _is_anothers(node, set(handles), thing)]
    if asked.order != "during":
        nodes = [node for node in nodes if (node.in_time < anchor.in_time) == before]
    near = [node for node in nodes if abs(node.moment_ms - anchor.moment_ms) <= _LONG_MS]
    if not near:
        return None
    first = min(near, key=lambda node: abs(node.moment_ms - anchor.moment_ms))
    told = [first]
    for node, _ in islice(follow(search, first, True), _RECENT):
        if before and node.in_time >= anchor.in_time:
            break
        objects = [str(action.get("object", "")) for action in node.payload.get("actions", [])]
        if _acts(node, asked.actor) and objects and all(one and not is_named(one) for one in objects):
            told.append(node)
    return Reply("; ".join(wording.quote(node) for node in told), [*told, anchor])


def _is_anothers(node: Node, handles: set[str], thing: str) -> bool:
    """Whether an event is about somebody else's thing."""
    objects = [str(action.get("object", "")) for action in node.payload.get("actions", [])]
    owners = [owner(one) for one in objects if handle(normalise_object(one)) in handles]
    return bool(owners) and all(one and one.lower() not in (owner(thing).lower(), "my", "our") for one in owners)


def follow(search: Search, node: Node, later: bool) -> Iterator[tuple[Node, list[Step]]]:
    """The visible events after (or before) one along the temporal channel, each with the hops that lead to it."""
    steps: list[Step] = []
    seen = {node.node_id}
    beside: dict[int, list[int]] = {}
    nodes: dict[int, Node] = {}
    while "temporal" not in search.view.without:
        if node.node_id not in beside:
            beside, nodes = _read_on(search, node, later)
        ahead = next((end for end in beside[node.node_id] if end not in seen), None)
        if ahead is not None and ahead not in nodes:
            nodes |= search.snapshot.nodes([ahead])
        found = nodes.get(ahead) if ahead is not None else None
        if found is None:
            return
        steps = [*steps, Step("temporal", node.node_id, found.node_id)]
        seen.add(found.node_id)
        node = found
        yield node, steps


def _read_on(search: Search, node: Node, later: bool) -> tuple[dict[int, list[int]], dict[int, Node]]:
    """What is right after (or before) an event and those next to it, which are likely to be followed too, and these."""
    place = int(np.searchsorted(search.visible, node.node_id))
    ids = search.visible[place : place + _READ] if later else search.visible[max(0, place - _READ) : place]
    beside: dict[int, list[int]] = {node_id: [] for node_id in [node.node_id, *ids.tolist()]}
    for edge in search.snapshot.neighbours(list(beside), search.view):
        start, end = (edge.src, edge.dst) if later else (edge.dst, edge.src)
        if edge.channel == "temporal" and start in beside:
            beside[start].append(end)
    return beside, search.snapshot.nodes(ids)


def clause_events(search: Search, asked: Clauses) -> list[Node]:
    """The events of the clause, the likeliest first: the last one, unless the first is asked for."""
    acts = _resolved(asked)
    told = asked.clause if len(acts) == 1 and acts[0].verb == asked.clause_acts[0].verb else ""
    hits = nearest(find_acts(search, acts[0], told) or likely_acts(search, acts[0], told)) if acts else []
    if not hits and len(acts) > 1:  # "I climbed up to adjust it" may be told as "I adjust it"
        hits = nearest(find_acts(search, acts[1], acts[0].place))
    elif len(acts) > 1:
        hits = [after for hit in hits if (after := _then(search, hit, acts[1:])) is not None]
    if hits:
        nodes = [hit.node for hit in hits]
        return nodes if asked.clause_ordinal > 0 else nodes[::-1]
    found = search.about(asked.clause).candidates()[:1]
    return [
        one.node
        for one in found
        if one.relevance >= calibration().threshold and not any(_is_other(one.node, act) for act in acts)
    ]


def _is_other(node: Node, act: Act) -> bool:
    """Whether an event does the same deed, but to another thing."""
    same = hit_of(node, replace(act, object="", place=""))
    return is_named(act.object) and same is not None and hit_of(node, replace(act, place="")) is None


def _resolved(asked: Clauses) -> list[Act]:
    """The deeds of the clause with what "it" stands for; "it went into X" is that it was put there."""
    known = next((act.object for act in asked.acts if is_named(act.object)), "")
    acts: list[Act] = []
    for act in asked.clause_acts:
        named = is_named(act.object)
        thing = act.object if named or not act.object else known
        if act.verb in _GOES and act.object and act.place:
            act = replace(act, actor="", verb="put")
        acts.append(replace(act, object=thing))
        known = thing if named else known
    return acts


def _then(search: Search, hit: Hit, acts: Sequence[Act]) -> Hit | None:
    """The event in which the other deeds of a clause are done, right after the first; the first where none is told."""
    last = hit
    for act in acts:
        for node, _ in islice(follow(search, last.node, True), _FOLLOWING):
            found = hit_of(node, act) or _to_it(node, act)
            if found is not None:
                last = found
                break
    return last


def _to_it(node: Node, act: Act) -> Hit | None:
    """The deed as told of "it", or of nothing."""
    found = hit_of(node, replace(act, object=""))
    return found if found is not None and not is_named(str(found.action.get("object", ""))) else None


def _next_deed(search: Search, asked: Clauses, anchor: Node) -> Reply | None:
    """ "What did I do …": the next deed of the one asked about, several unless "right" after is meant.

    A turn or a look does not hide what was done then: it is told with it, or left out where there are others.
    """
    found: list[tuple[Node, list[Step]]] = []
    deeds = 0
    for node, steps in islice(follow(search, anchor, asked.order == "after"), _REACH):
        again = asked.clause_acts and hit_of(node, asked.clause_acts[-1]) is not None
        if not _acts(node, asked.actor) or (again and asked.order == "after"):
            continue
        found.append((node, steps))
        deeds += not _is_slight(node, asked.actor)
        close = asked.close and asked.actor  # of "what happened just before" several are told
        if deeds == (1 if close else _SEVERAL) or (close and len(found) == _SEVERAL):
            break
    if not found:
        return None
    if not (asked.close and asked.actor) and deeds:
        found = [(node, steps) for node, steps in found if not _is_slight(node, asked.actor)]
    how = {"after": "after", "before": "before", "during": "when"}[asked.order]
    told = "; ".join(wording.quote(node) for node, _ in sorted(found, key=lambda one: one[0].in_time))
    right = "right " if asked.close else ""
    return Reply(
        f"{told}, {right}{how} {wording.quote(anchor)}", [*(node for node, _ in found), anchor], dict(_paths(found))
    )


def _acts(node: Node, actor: str) -> bool:
    if node.payload.get("modality") == "heard":
        return False
    actions = node.payload.get("actions", [])
    if not actor:
        return bool(actions) or bool(node.text)
    return any(action.get("actor") == actor and action.get("verb") not in _STATES for action in actions)


def _is_slight(node: Node, actor: str) -> bool:
    """Whether all that somebody does is to turn, look or walk."""
    verbs = [
        str(action["verb"]).split(" ", 1)[0]
        for action in node.payload.get("actions", ())
        if actor in ("", action["actor"])
    ]
    if any(person not in (WEARER, actor) for person in node.payload.get("persons", [])) and "look" not in verbs:
        return False
    return bool(verbs) and all(verb in _SLIGHT or verb in verb_list("walks") for verb in verbs)


def _said(search: Search, asked: Clauses, anchor: Node) -> Reply | None:
    """ "What did Alice say right after …": her next words, or her last ones before, as far as they belong together."""
    found: list[tuple[Node, list[Step]]] = []
    for node, steps in islice(follow(search, anchor, asked.order != "before"), _REACH):
        if abs(node.moment_ms - (found[0][0] if found else anchor).moment_ms) > (_WORDS_MS if found else _CLOSE_MS):
            break
        persons = node.payload.get("persons", [])
        if node.payload.get("modality") == "heard" and persons and asked.actor in ("", persons[0]):
            found.append((node, steps))
        if len(found) == _SEVERAL:
            break
    if not found:
        return None
    told = sorted((node for node, _ in found), key=lambda node: node.in_time)
    return Reply("; ".join(wording.quote(node) for node in told), [*told, anchor], dict(_paths(found)))


def _paths(found: Sequence[tuple[Node, list[Step]]]) -> Iterator[tuple[int, list[Step]]]:
    return ((node.node_id, steps) for node, steps in found)


def _main_deed(search: Search, asked: Clauses, anchor: Node) -> Reply | None:
    """ "What did I throw on the sofa before …": the nearest event, or the first of them, that does the deed named."""
    at = anchor.in_time
    reach = _CLOSE_MS if asked.close or asked.ordinal else _LONG_MS
    before = {"before": reach, "after": 0, "during": _CLOSE_MS}[asked.order]
    after = {"before": 0, "after": reach, "during": _CLOSE_MS}[asked.order]
    hits = find_acts(search, asked.acts[0], asked.main, around(search, anchor, before, after))
    hits = [hit for hit in hits if hit.node is not anchor and hit.placed and _answers(search, hit)]
    if asked.order == "before":
        hits = [hit for hit in hits if hit.node.in_time < at]
    elif asked.order == "after":
        hits = [hit for hit in hits if hit.node.in_time > at]
    if not hits:
        return None
    if asked.ordinal:
        hit = hits[0 if asked.ordinal > 0 else -1]
    else:
        hit = min(hits, key=lambda one: (abs(one.node.moment_ms - at[0]), one.node.node_id))
    head, named = _told(search, hit)
    return Reply(f"{head}: {wording.quote(hit.node)}", [hit.node, *named, anchor], _path(search, anchor, hit.node))


def _path(search: Search, anchor: Node, node: Node) -> dict[int, list[Step]]:
    """The hops from the clause's event to another, where they are few."""
    later = node.in_time > anchor.in_time
    for reached, steps in islice(follow(search, anchor, later), _REACH):
        if reached.node_id == node.node_id:
            return {node.node_id: steps}
    return {}


def _answers(search: Search, hit: Hit) -> bool:
    place = str(hit.action.get("spatial_relation") or "")
    return search.question.form != "where" or (bool(place) and place.replace(" ", "-") not in word_list("vague_places"))


def _told(search: Search, hit: Hit) -> tuple[str, list[Node]]:
    """The place or the thing of a deed, as told to the wearer, and the event that says what "it" is."""
    if search.question.form == "where":
        return _capital(str(hit.action.get("spatial_relation"))), []
    thing, named = str(hit.action.get("object", "")), list[Node]()
    if not is_named(thing):
        before = ((node, _taken_up(node, str(hit.action.get("actor", "")))) for node, _ in _just_before(search, hit))
        named_by, thing = next(((node, name) for node, name in before if name), (hit.node, ""))
        named = [named_by] if thing else []
    return _capital(thing or str(hit.action["verb"])), named


def _capital(words: str) -> str:
    words = wording.to_you(words)
    return words[:1].upper() + words[1:]


def _just_before(search: Search, hit: Hit) -> Iterator[tuple[Node, list[Step]]]:
    return islice(follow(search, hit.node, False), _RECENT)


def _taken_up(node: Node, actor: str) -> str:
    """The thing that somebody has in hand after an event."""
    for action in reversed(node.payload.get("actions", [])):
        thing = str(action.get("object", ""))
        if action.get("actor") == actor and is_named(thing) and state_of(str(action.get("verb", ""))) in _IN_HAND:
            return thing
    return ""


def first_or_last(search: Search, asked: Clauses) -> Reply | None:
    """When a deed was done, or where it was first done: the first time, the last, or those there are."""
    form = search.question.form
    if not asked.acts or asked.order or form not in ("when", "where") or (form == "where" and not asked.ordinal):
        return None
    hits = likely_acts(search, asked.acts[0], asked.main)
    whole = [hit for hit in hits if all(hit_of(hit.node, act) is not None for act in asked.acts[1:])]
    hits = whole or hits  # "when did I turn around and glance at it": the event that does both
    if asked.ordinal >= 0:
        hits = [hit for hit in hits if _answers(search, hit)]
    if not hits or asked.ordinal > len(hits) or not _answers(search, hits[-1]):
        return None
    if asked.ordinal:
        hits = [hits[asked.ordinal - 1 if asked.ordinal > 0 else -1]]
    told, more = hits[-_SEVERAL:], [hit.node for hit in hits[-_SHOWN:-_SEVERAL]][::-1]
    if form == "where":
        return Reply(f"{_told(search, told[0])[0]}: {wording.quote(told[0].node)}", [told[0].node])
    text = "; ".join(f"{show_time(hit.node)}: {_words(hit.node)}" for hit in told)
    return Reply(text, [hit.node for hit in told], more=more)


def _words(node: Node) -> str:
    return node.text if '"' in node.text else f'"{node.text}"'
