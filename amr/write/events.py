"""ClipAnalysis → event nodes: who, what, where and the words, with times on the source's clock (AMR-Graph §3)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from amr.language.names import handle, normalise_object
from amr.perceive.perception import Perceived
from amr.records import WEARER, ClipAnalysis, EventReport, Mention, Node, NodeKind, SpeakerTurn
from amr.store.hashing import node_hash
from amr.write.states import states_of

_NO_WORD = re.compile(r"[\W_]")


@dataclass(frozen=True)
class ClipPlace:
    """Where a clip belongs: its source and pass, its boundaries, and the clock of its source."""

    scope_id: str
    source_id: int
    source_key: str
    pass_id: int
    parent_id: int
    clip_index: int
    start_ms: int
    end_ms: int
    origin_wall_ms: int | None

    def learnt_at(self) -> int:
        """When the memory may know what the clip shows: its end, on the wall clock where there is one."""
        return self.end_ms + (self.origin_wall_ms or 0)


def events_of(analysis: ClipAnalysis) -> list[EventReport]:
    """The events of a clip with every speaker turn in one of them, in time order.

    A turn belongs to the event that quotes it, else to the one it overlaps most; one that overlaps none becomes
    an event of its own, heard only.
    """
    events = [
        event.model_copy(update={"dialogue": [*event.dialogue], "actors": [*event.actors]}) for event in analysis.events
    ]
    alone: list[EventReport] = []
    for number, turn in enumerate(analysis.speaker_turns):
        home = _home_of(turn, events)
        if home is None:
            alone.append(_heard_only(turn, number))
            continue
        if turn.utterance and turn.utterance not in home.dialogue:
            home.dialogue.append(turn.utterance)
        if turn.speaker_id not in home.actors:
            home.actors.append(turn.speaker_id)
    return sorted(events + alone, key=lambda event: event.time_start)


def _home_of(turn: SpeakerTurn, events: list[EventReport]) -> EventReport | None:
    quoting = [event for event in events if turn.utterance and turn.utterance in event.dialogue]
    best, most = None, (False, 0.0)
    for event in quoting or events:
        shared = min(turn.time_end, event.time_end) - max(turn.time_start, event.time_start)
        # The same words, "Okay.", may be said by several people, and in no time at all.
        fits = (bool(quoting) and turn.speaker_id in event.actors, shared)
        if fits > most or (quoting and best is None):
            best, most = event, fits
    return best


def _heard_only(turn: SpeakerTurn, number: int) -> EventReport:
    return EventReport(
        local_event_id=f"turn-{number}",
        time_start=turn.time_start,
        time_end=turn.time_end,
        summary=f'Someone says: "{turn.utterance}"' if turn.utterance else "Someone speaks.",
        actors=[turn.speaker_id],
        dialogue=[turn.utterance] if turn.utterance else [],
        modality="heard",
        certain=not turn.rough,
    )


def event_nodes(place: ClipPlace, perceived: Perceived) -> list[Node]:
    """The nodes of a clip's events in order of time, without ids, with the states that they leave things in."""
    names = _names_of(place, perceived)
    nodes = [_node(-1, place, perceived, event, names) for event in events_of(perceived.analysis)]
    return _with_states(nodes, place)


def event_node(node_id: int, place: ClipPlace, perceived: Perceived, event: EventReport) -> Node:
    """The node of one event alone. Local character ids become handles; objects stay verbatim.

    A summary that a model wrote for remembering takes the place of the one it wrote while perceiving.
    """
    return _with_states([_node(node_id, place, perceived, event, _names_of(place, perceived))], place)[0]


def _with_states(nodes: list[Node], place: ClipPlace) -> list[Node]:
    """Completes the nodes of one clip by what they leave things in, and by their hashes."""
    told = [{**node.payload, "text": node.text} for node in nodes]
    for node, states in zip(nodes, states_of(told), strict=True):
        known = [state for state in states if state["object"]]
        open_ends = [state for state in states if not state["object"]]
        node.payload |= {"states": known} if known else {}
        node.payload |= {"unresolved": open_ends} if open_ends else {}
        node.hash = hash_of(node, place.source_key)
    return nodes


def _node(node_id: int, place: ClipPlace, perceived: Perceived, event: EventReport, names: dict[str, str]) -> Node:
    start = place.start_ms + _milliseconds(event.time_start)
    end = max(start, place.start_ms + _milliseconds(event.time_end))
    text = perceived.summaries.get(event.local_event_id) or event.summary
    return Node(
        node_id=node_id,
        kind="event",
        scope_id=place.scope_id,
        source_id=place.source_id,
        pass_id=place.pass_id,
        parent_id=place.parent_id,
        clip_first=place.clip_index,
        clip_last=place.clip_index,
        t_start_ms=start,
        t_end_ms=end,
        time_ms=None if place.origin_wall_ms is None else place.origin_wall_ms + start,
        text=text,
        payload=_payload(perceived, event, text, names),
        hash="",
        learnt_at=end + (place.origin_wall_ms or 0) if _is_told(perceived, event) else place.learnt_at(),
    )


def _is_told(perceived: Perceived, event: EventReport) -> bool:
    """Whether words alone tell an event: known as soon as they end, as what is seen is when its clip ends."""
    return not perceived.model and event.modality in ("told", "heard")


def hash_of(node: Node, source_key: str) -> str:
    """The hash of an event node of a source."""
    return node_hash("event", node.scope_id, source_key, node.t_start_ms, node.t_end_ms, node.text, node.payload)


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _payload(perceived: Perceived, event: EventReport, text: str, names: dict[str, str]) -> dict[str, Any]:
    analysis = perceived.analysis
    said = _words(" ".join([text, *event.dialogue]))
    mentioned = [
        names[c.local_character_id] for c in analysis.characters if f" {c.name_or_description.lower()} " in said
    ]
    actors = [names.get(actor, actor) for actor in event.actors]
    payload: dict[str, Any] = {
        "persons": list(dict.fromkeys(actors + mentioned)),
        "objects": list(dict.fromkeys([o.name for o in event.objects] + [a.object for a in event.actions if a.object])),
        "dialogue": event.dialogue,
        "scene_type": analysis.scene_type,
        "modality": event.modality,
        "certain": event.certain,
        "actions": [{**vars(action), "actor": names.get(action.actor, action.actor)} for action in event.actions],
    }
    places = {o.name: o.spatial_description for o in event.objects if o.spatial_description}
    heard = {names[c.local_character_id]: perceived.names.get(c.name_or_description) for c in analysis.characters}
    known = {person: name for person, name in heard.items() if name and person in payload["persons"]}
    extra = {"places": places, "names": known, "ref": event.ref}
    return {**payload, **{key: value for key, value in extra.items() if value}}


def _names_of(place: ClipPlace, perceived: Perceived) -> dict[str, str]:
    """The handle of everyone that has an id of the clip's own."""
    analysis = perceived.analysis
    names = {
        character.local_character_id: handle(perceived.handles.get(character.name_or_description, ""))
        or handle(character.name_or_description)
        for character in analysis.characters
    }
    if perceived.model:
        # A voice that a model tells apart in one clip is nobody known in the next.
        voices = {turn.speaker_id for turn in analysis.speaker_turns} - {*names, WEARER}
        names |= {voice: f"voice_{place.clip_index}_{handle(voice)}" for voice in voices}
    return names


def _words(text: str) -> str:
    """A text in lower case with a space around each word."""
    return f" {_NO_WORD.sub(' ', text.lower())} "


def embedded_text(node: Node, key_fields: bool = False) -> str:
    """What the embedding of an event is made from: its summary and the words spoken that it lacks.

    With `key_fields`, which a model told, also the persons, objects and kind of scene that it lacks.
    """
    parts = [node.text, *(words for words in node.payload["dialogue"] if words not in node.text)]
    if key_fields:
        names = [*node.payload["persons"], *node.payload["objects"], node.payload["scene_type"]]
        words = [name.replace("_", " ") for name in names]
        parts += [name for name in dict.fromkeys(words) if name and name.lower() not in node.text.lower()]
    return " ".join(parts)


def mentions_of(node: Node) -> list[Mention]:
    """The handles under which an event is found: its persons, its objects in look-up form, the states it tells."""
    aliases = [handle(name) for name in node.payload.get("names", {}).values()]
    persons = [(person, "person") for person in [*node.payload["persons"], *aliases]]
    states = [state["object"] for state in node.payload.get("states", [])]
    objects = [*(handle(normalise_object(name)) for name in node.payload["objects"]), *states]
    return [
        Mention(node.node_id, node.scope_id, name, role, node.t_start_ms or 0, node.learnt_at)
        for name, role in dict.fromkeys([*persons, *((o, "object") for o in objects), *((s, "state") for s in states)])
        if name
    ]


def world_node(
    node_id: int, kind: str, scope_id: str, source_id: int | None, source_key: str, parent: int | None
) -> Node:
    """The node of a scope (no source, no parent) or of a source: a world that contains what is written into it."""
    node = timeless_node(node_id, "scope" if kind == "scope" else "source", scope_id, source_key, {})
    return replace(node, source_id=source_id, parent_id=parent)


def timeless_node(node_id: int, kind: NodeKind, scope_id: str, source_key: str, payload: dict[str, Any]) -> Node:
    """A node without words of its own that is of no one time: a world, an entity."""
    return Node(
        node_id=node_id,
        kind=kind,
        scope_id=scope_id,
        source_id=None,
        pass_id=None,
        parent_id=None,
        clip_first=None,
        clip_last=None,
        t_start_ms=None,
        t_end_ms=None,
        time_ms=None,
        text="",
        payload=payload,
        hash=node_hash(kind, scope_id, source_key, None, None, "", payload),
    )
