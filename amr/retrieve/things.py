"""What somebody gave, ate or bought: the things of the deeds that a question names."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from amr.language.lemmas import content_lemmas
from amr.language.names import handle, normalise_object
from amr.language.states import state_of
from amr.records import WEARER
from amr.retrieve import wording
from amr.retrieve.acts import Hit, is_named
from amr.retrieve.anchors import object_handles
from amr.retrieve.clauses import Act, Clauses
from amr.retrieve.likeness import vocabulary
from amr.retrieve.occasions import likely_acts
from amr.retrieve.sequence import Reply

if TYPE_CHECKING:
    from amr.retrieve.query import Search

_QUOTES = 3
_SHOWN = 7
_LINES = 200
_INSIDE = re.compile(
    r"\s*what (?:was|were|is|are) (?:in|inside) (?:the|my|that|this|our) (?P<thing>[a-z][a-z -]*?)"
    r"(?=\s+(?:I|that|which|we|he|she|from|on)\b|\s*\?|\s*$)",
    re.IGNORECASE,
)
_IN = re.compile(r"(?:in|inside)\b", re.IGNORECASE)


def things(search: Search, asked: Clauses) -> Reply | None:
    """What a deed was done to, for "what did I eat?"; None where no deed says so, or the thing is named already."""
    inside = _INSIDE.match(search.question.text)
    if inside is not None:
        return _contents(search, inside["thing"])
    other = asked.order or asked.count or asked.usual or asked.asks_actor
    if search.question.form != "what" or other or not asked.acts:
        return None
    act = _given(asked.acts[0])
    if is_named(act.object) or not (act.actor and (act.place or asked.wanted)):
        return None
    hits = [hit for hit in likely_acts(search, act, asked.main) if is_named(str(hit.action.get("object", "")))]
    hits = [hit for hit in hits if not hit.resolved]
    if not hits:
        return None
    if asked.wanted:
        hits = _of_kind(asked.wanted, hits)
    chosen = [hits[0]] if asked.ordinal > 0 else hits[-1:] if asked.ordinal < 0 else hits[-_QUOTES:]
    more = [hit.node for hit in hits[-_SHOWN:] if hit not in chosen]
    text = "; ".join(f"{_name(hit)}: {wording.quote(hit.node)}" for hit in chosen)
    return Reply(text, [hit.node for hit in chosen], more=more)


def _contents(search: Search, container: str) -> Reply | None:
    """ "What was in the box?": the things last told to be in it."""
    handles = object_handles(search.snapshot, search.view.scope, normalise_object(container))
    words = frozenset(content_lemmas(container)[-1:])
    ids = {int(node_id) for node_id in search.mentioning(handles)}
    ids |= {found for found, _ in search.snapshot.search_text(search.view.scope, container, search.visible, _LINES)}
    for node in sorted(search.snapshot.nodes(sorted(ids)).values(), key=lambda node: node.in_time, reverse=True):
        places = node.payload.get("places", {}).items() if node.payload.get("modality") != "heard" else ()
        held = [name for name, place in places if _IN.match(place) and words <= frozenset(content_lemmas(place))]
        if held:
            return Reply(f"{', '.join(wording.to_you(name) for name in held)}: {wording.quote(node)}", [node])
    return None


def _given(act: Act) -> Act:
    """ "What did she pass me at lunch?": me is to whom, not what."""
    if state_of(act.verb) == "given" and handle(act.object) in (WEARER, "me", "us"):
        return replace(act, object="", place=f"to me {act.place}".strip())
    return act


def _of_kind(kind: str, hits: list[Hit]) -> list[Hit]:
    """The deeds, those with the things most like the kind asked for last."""
    word = content_lemmas(kind)[-1:]
    if not word:
        return hits
    names = {id(hit): frozenset(content_lemmas(str(hit.action["object"]))) for hit in hits}
    vocabulary.add(frozenset(word).union(*names.values()))
    alike = {id(hit): round(vocabulary.likeness(word[0], names[id(hit)]), 2) for hit in hits}
    return sorted(hits, key=lambda hit: alike[id(hit)])


def _name(hit: Hit) -> str:
    name = wording.to_you(str(hit.action["object"]))
    return name[:1].upper() + name[1:]
