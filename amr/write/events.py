"""ClipAnalysis → event nodes: who, what, where and the words, with times on the source's clock (AMR-Graph §3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amr.language.names import handle, normalise_object
from amr.records import ClipAnalysis, EventReport, Mention, Node, SpeakerTurn
from amr.store.hashing import node_hash


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
    best, most = None, 0.0
    for event in quoting or events:
        shared = min(turn.time_end, event.time_end) - max(turn.time_start, event.time_start)
        if shared > most or (quoting and best is None):
            best, most = event, shared
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


def event_node(node_id: int, place: ClipPlace, analysis: ClipAnalysis, event: EventReport) -> Node:
    """The node of one event. Local character ids become handles; objects stay verbatim."""
    start = place.start_ms + _milliseconds(event.time_start)
    end = max(start, place.start_ms + _milliseconds(event.time_end))
    payload = _payload(analysis, event)
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
        text=event.summary,
        payload=payload,
        hash=node_hash("event", place.scope_id, place.source_key, start, end, event.summary, payload),
        learnt_at=place.learnt_at(),
    )


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _payload(analysis: ClipAnalysis, event: EventReport) -> dict[str, Any]:
    names = {c.local_character_id: handle(c.name_or_description) for c in analysis.characters}
    said = " ".join([event.summary, *event.dialogue]).lower()
    mentioned = [
        handle(c.name_or_description) for c in analysis.characters if _names(c.name_or_description.lower(), said)
    ]
    actors = [names.get(actor, actor) for actor in event.actors]
    payload: dict[str, Any] = {
        "persons": list(dict.fromkeys(actors + mentioned)),
        "objects": list(dict.fromkeys([o.name for o in event.objects] + [a.object for a in event.actions if a.object])),
        "dialogue": event.dialogue,
        "scene_type": analysis.scene_type,
        "modality": event.modality,
        "certain": event.certain,
        "actions": [
            {**action.model_dump(), "actor": names.get(action.actor, action.actor)} for action in event.actions
        ],
    }
    places = {o.name: o.spatial_description for o in event.objects if o.spatial_description}
    return {**payload, "places": places} if places else payload


def _names(name: str, text: str) -> bool:
    return f" {name} " in f" {''.join(c if c.isalnum() else ' ' for c in text)} "


def mentions_of(node: Node) -> list[Mention]:
    """The handles under which an event is found: its persons, and its objects in look-up form."""
    persons = [(person, "person") for person in node.payload["persons"]]
    objects = [(handle(normalise_object(name)), "object") for name in node.payload["objects"]]
    return [
        Mention(node.node_id, node.scope_id, name, role, node.t_start_ms or 0, node.learnt_at)
        for name, role in dict.fromkeys(persons + objects)
        if name
    ]


def world_node(
    node_id: int, kind: str, scope_id: str, source_id: int | None, source_key: str, parent: int | None
) -> Node:
    """The node of a scope (no source, no parent) or of a source: a world that contains what is written into it."""
    return Node(
        node_id=node_id,
        kind="scope" if kind == "scope" else "source",
        scope_id=scope_id,
        source_id=source_id,
        pass_id=None,
        parent_id=parent,
        clip_first=None,
        clip_last=None,
        t_start_ms=None,
        t_end_ms=None,
        time_ms=None,
        text="",
        payload={},
        hash=node_hash(kind, scope_id, source_key, None, None, "", {}),
    )
