"""The small calls about what was perceived: short names for persons, sentences to remember events by.

Each is a pure function of what it is given, one call however many persons or events there are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from amr.models.chat import Usage
from amr.records import WEARER

if TYPE_CHECKING:
    from amr.models.asking import RoleModel
    from amr.records import Action, ClipAnalysis, EventReport


MOST_WORDS = 80
"""No summary is longer; the prompts ask for 45."""

_HANDLE = re.compile(r"[^\W_]+(_[^\W_]+)*")


class _Handle(BaseModel):
    id: int
    handle: str
    name: str


class _Handles(BaseModel):
    handles: list[_Handle]


class _EventSummary(BaseModel):
    id: str
    summary: str


class _Summaries(BaseModel):
    summaries: list[_EventSummary]


class _Summary(BaseModel):
    summary: str


class _Deed(BaseModel):
    actor: str
    verb: str
    object: str
    spatial_relation: str


class _Deeds(BaseModel):
    id: str
    actions: list[_Deed]


class _Refined(BaseModel):
    events: list[_Deeds]


@dataclass(frozen=True)
class Handles:
    """`handles` and `names` go from a person's descriptor to the handle, and to the proper name in it if any."""

    handles: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    salvages: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Summaries:
    """`texts` goes from `local_event_id` to the sentence to remember the event by."""

    texts: dict[str, str] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    salvages: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Refined:
    """`actions` goes from `local_event_id` to the actions of the event, their relations completed."""

    actions: dict[str, list[Action]] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    salvages: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Part:
    """An event that is merged with others: what is known of it."""

    summary: str
    dialogue: list[str]
    actions: list[dict[str, Any]]


def give_handles(model: RoleModel, descriptors: Sequence[str]) -> Handles:
    """Handles for described persons. Raises CallFailed when the model gives none that can be used."""
    wanted = sorted(set(descriptors))  # equal persons in another order are the same call
    if not wanted:
        return Handles()
    persons = [{"id": number, "descriptor": text} for number, text in enumerate(wanted, 1)]

    def check(reply: _Handles) -> list[str]:
        wrong = _ids_wrong([item.id for item in reply.handles], list(range(1, len(wanted) + 1)), "handles")
        return wrong + [
            f'handles: "{item.handle}" is not a handle in snake_case'
            for item in reply.handles
            if not _HANDLE.fullmatch(item.handle) or item.handle != item.handle.lower() or item.handle == WEARER
        ]

    reply = model.ask("handles", {"persons": persons}, _Handles, check)
    given = {wanted[item.id - 1]: item for item in reply.value.handles}
    return Handles(
        {text: given[text].handle for text in wanted},
        {text: given[text].name.strip() for text in wanted if given[text].name.strip()},
        reply.usage,
        reply.salvages,
    )


def summarise_events(model: RoleModel, analysis: ClipAnalysis) -> Summaries:
    """A sentence for each event of a clip. Raises CallFailed when the model gives none that can be used."""
    if not analysis.events:
        return Summaries()
    wanted = [event.local_event_id for event in analysis.events]

    def check(reply: _Summaries) -> list[str]:
        wrong = _ids_wrong([item.id for item in reply.summaries], wanted, "summaries")
        return wrong + [
            fault for item in reply.summaries for fault in _summary_wrong(item.summary, f"summaries, {item.id}")
        ]

    values = {
        "clip_summary": analysis.clip_summary,
        "scene_type": analysis.scene_type,
        "events": [_told(event, _people(analysis), analysis) for event in analysis.events],
    }
    reply = model.ask("summaries", values, _Summaries, check)
    texts = {item.id: _one_line(item.summary) for item in reply.value.summaries}
    return Summaries({event: texts[event] for event in wanted}, reply.usage, reply.salvages)


def complete_actions(model: RoleModel, analysis: ClipAnalysis) -> Refined:
    """The spatial relations that actions lack, where the rest of the event tells them; nothing else is changed.

    Raises CallFailed when the model gives none that can be used.
    """
    lacking = [event for event in analysis.events if not all(action.spatial_relation for action in event.actions)]
    if not lacking:
        return Refined()
    events = [_told(event, _people(analysis), analysis) for event in lacking]

    def check(reply: _Refined) -> list[str]:
        wrong = _ids_wrong([item.id for item in reply.events], [event["id"] for event in events], "events")
        given = {item.id: [_deed(action.model_dump()) for action in item.actions] for item in reply.events}
        return wrong or [
            f"events, {event['id']}: the actions are not those that were given"
            for event in events
            if given[event["id"]] != [_deed(action) for action in event["actions"]]
        ]

    reply = model.ask("refine", {"events": events}, _Refined, check)
    told = {item.id: [action.spatial_relation.strip() for action in item.actions] for item in reply.value.events}
    actions = {
        event.local_event_id: [
            action.model_copy(update={"spatial_relation": action.spatial_relation or relation})
            for action, relation in zip(event.actions, told[event.local_event_id], strict=True)
        ]
        for event in lacking
    }
    return Refined(actions, reply.usage, reply.salvages)


def _deed(action: dict[str, Any]) -> tuple[str, str, str]:
    return action["actor"], action["verb"], action["object"]


def _people(analysis: ClipAnalysis) -> dict[str, str]:
    return {person.local_character_id: person.name_or_description for person in analysis.characters}


def summarise_merged(model: RoleModel, parts: Sequence[Part]) -> tuple[str, Usage, Counter[str]]:
    """One summary for events that become one, given in order of time; what the call used; what had to be mended.

    Raises CallFailed when the model gives none that can be used.
    """
    nodes = [{"summary": part.summary, "dialogue": part.dialogue, "actions": part.actions} for part in parts]
    reply = model.ask(
        "merged_summary", {"nodes": nodes}, _Summary, lambda merged: _summary_wrong(merged.summary, "summary")
    )
    return _one_line(reply.value.summary), reply.usage, reply.salvages


def _told(event: EventReport, people: dict[str, str], analysis: ClipAnalysis) -> dict[str, Any]:
    """An event as the model is told of it: persons by their description."""
    speakers = {turn.utterance: people.get(turn.speaker_id, turn.speaker_id) for turn in analysis.speaker_turns}
    return {
        "id": event.local_event_id,
        "summary": event.summary,
        "dialogue": [
            {"speaker": speakers[words], "utterance": words} if words in speakers else words for words in event.dialogue
        ],
        "actors": [people.get(actor, actor) for actor in event.actors],
        "objects": [thing.model_dump() for thing in event.objects],
        "actions": [
            {**action.model_dump(), "actor": people.get(action.actor, action.actor)} for action in event.actions
        ],
    }


def _ids_wrong(given: Sequence[Any], wanted: Sequence[Any], where: str) -> list[str]:
    """What is wrong with the ids of a reply, which must be those that were asked about, each once."""
    counts = Counter(given)
    missing = [f"{where}: there is none for id {item}" for item in wanted if not counts[item]]
    twice = [f"{where}: there are several for id {item}" for item, count in counts.items() if count > 1]
    return missing + twice + [f"{where}: nothing has the id {item}" for item in counts if item not in wanted]


def _summary_wrong(text: str, where: str) -> list[str]:
    if not text.strip():
        return [f"{where}: it is empty"]
    return [f"{where}: it is too long, write at most 45 words"] if len(text.split()) > MOST_WORDS else []


def _one_line(text: str) -> str:
    return " ".join(text.split())
