"""The perceiver that is a model: one call that sees and hears the clip, one that names its persons, one that sums up.

A pure function of the clip; what it reports was checked against the clip, never filled in.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from amr.models.chat import RequestTooLarge
from amr.models.prompts import prompt_hash
from amr.perceive.clip_media import FULL, SMALLER, Quality, Sent, clip_media, seconds_in
from amr.perceive.describe import Refined, complete_actions, give_handles, summarise_events
from amr.perceive.perception import Perceived
from amr.perceive.speech import NO_RECOGNISER, Recogniser, recognise
from amr.records import WEARER, ClipAnalysis, Modality

if TYPE_CHECKING:
    from amr.models.asking import RoleModel
    from amr.models.structured import Structured
    from amr.records import Clip

_VOICE = re.compile(r"S\d+")
_FEW_SECONDS = 1.0


class _Person(BaseModel):
    local_character_id: str
    role: str
    name_or_description: str


class _Turn(BaseModel):
    speaker_id: str
    utterance: str
    time_start: float
    time_end: float


class _Thing(BaseModel):
    name: str
    spatial_description: str


class _Deed(BaseModel):
    actor: str
    verb: str
    object: str
    spatial_relation: str


class _Happening(BaseModel):
    local_event_id: str
    time_start: float
    time_end: float
    summary: str
    actors: list[str]
    objects: list[_Thing]
    dialogue: list[str]
    actions: list[_Deed]


class Report(BaseModel):
    """What the model is asked for: a ClipAnalysis without what only the embedded perceiver measures."""

    clip_summary: str
    scene_type: str
    characters: list[_Person]
    speaker_turns: list[_Turn]
    events: list[_Happening]


@dataclass(frozen=True)
class Told:
    """The words of a clip as text, for a model that does not hear them. Times in seconds from the clip's start."""

    lines: tuple[dict[str, Any], ...] = ()
    source: str = ""
    rough: bool = False


@dataclass(frozen=True)
class Multimodal:
    """The models of a perceiver and what they are sent; `recogniser` is for models that do not hear.

    With `refine`, one more call completes the relations that actions lack.
    """

    perceive: RoleModel
    handles: RoleModel
    summaries: RoleModel
    frame_size: int
    recogniser: Recogniser = NO_RECOGNISER
    refine: RoleModel | None = None

    @property
    def asked(self) -> list[RoleModel]:
        """Every role that is called."""
        roles = [self.perceive, self.handles, self.summaries]
        return roles if self.refine is None else [*roles, self.refine]


def perceive_clip(clip: Clip, using: Multimodal) -> Perceived:
    """What the models tell of a clip; a given analysis is returned as is.

    Raises CallFailed when this clip cannot be perceived.
    """
    if clip.analysis is not None:
        return Perceived(clip.analysis)
    if not clip.frames and not clip.cues and (clip.audio is None or not clip.audio.size):
        return Perceived(ClipAnalysis(clip_summary="There was nothing to see, hear or read."))
    reply, told = _look(clip, using)
    analysis, problems = settle(reply.value, clip)
    if told.rough:
        analysis.speaker_turns = [turn.model_copy(update={"rough": True}) for turn in analysis.speaker_turns]
    refined = Refined() if using.refine is None else complete_actions(using.refine, analysis)
    for event in analysis.events:
        event.actions = refined.actions.get(event.local_event_id, event.actions)
    seen = Perceived(
        analysis,
        raw=reply.raw,
        prompt_hash=prompt_hash("perceive_strict" if reply.salvages["reasked"] else "perceive"),
        model=using.perceive.chat.name,
        cost_usd=(reply.usage + refined.usage).cost_usd or 0.0,
        salvages=reply.salvages + refined.salvages,
        problems=problems,
    )
    return describe(seen, using.handles, using.summaries)


def describe(seen: Perceived, handles: RoleModel, summaries: RoleModel) -> Perceived:
    """What was seen of a clip, with short names for its persons and sentences to remember its events by.

    A pure function of the analysis, so that it can be done again from what is stored. Raises CallFailed.
    """
    named = give_handles(handles, [person.name_or_description for person in seen.analysis.characters])
    summed = summarise_events(summaries, seen.analysis)
    return replace(
        seen,
        cost_usd=seen.cost_usd + ((named.usage + summed.usage).cost_usd or 0.0),
        salvages=seen.salvages + named.salvages + summed.salvages,
        problems=seen.problems + _alike(named.handles),
        handles=named.handles,
        names=named.names,
        summaries=summed.texts,
    )


def _look(clip: Clip, using: Multimodal) -> tuple[Structured[Report], Told]:
    """The perceive call; what is over a limit is sent once more, smaller."""
    told = transcript(clip, using)
    try:
        return _ask(clip, using, told, FULL), told
    except RequestTooLarge:
        return _ask(clip, using, told, SMALLER), told


def _ask(clip: Clip, using: Multimodal, told: Told, quality: Quality) -> Structured[Report]:
    sent = clip_media(clip, using.perceive.chat.capabilities, using.frame_size, quality)
    length = clip_seconds(clip)
    values = {
        "seconds": length,
        "given": given(sent),
        "frame_times": sent.frame_times,
        "transcript": told.lines,
        "transcript_from": told.source,
    }
    return using.perceive.ask("perceive", values, Report, lambda report: nonsense(report, length), sent.media)


def clip_seconds(clip: Clip) -> float:
    """How long a clip is."""
    return round((clip.end_ms - clip.start_ms) / 1000, 3)


def transcript(clip: Clip, using: Multimodal) -> Told:
    """The words that a model is told: captions always, what a recogniser heard if the model does not hear itself."""
    if clip.captioned or clip.cues:
        lines = (
            {"start": seconds_in(cue.start_ms, clip), "end": seconds_in(cue.end_ms, clip), "text": _flat(cue.text)}
            for cue in clip.cues
        )
        return Told(tuple(lines), "captions; where one names nobody, it may be what the wearer tells of the clip")
    if using.perceive.chat.capabilities.audio or clip.audio is None:
        return Told()
    heard = [part for part in recognise(clip.audio, using.recogniser) if part.text]
    rough = any(part.rough for part in heard)
    return Told(
        tuple({"start": part.start, "end": part.end, "text": _flat(part.text)} for part in heard),
        "by a speech recogniser that is often wrong" if rough else "by a speech recogniser",
        rough,
    )


def given(sent: Sent) -> str:
    """A sentence on what the model gets of the clip."""
    if any(item.kind == "video" for item in sent.media):
        return f"You get it as a video {'with its' if sent.hears else 'without'} sound."
    if not sent.sees:
        return "You get its sound, and no picture." if sent.hears else "You get no picture and no sound of it."
    pictures = "1 picture" if len(sent.frame_times) == 1 else f"{len(sent.frame_times)} pictures"
    return f"You get {pictures} from it, {'and its' if sent.hears else 'without'} sound."


def nonsense(report: Report, length: float) -> list[str]:
    """What makes a report of a clip of `length` seconds unusable, in words for the model."""
    wrong = [] if report.clip_summary.strip() else ["clip_summary: it is empty"]
    ids = Counter(person.local_character_id for person in report.characters)
    wrong += [f"characters: {name} stands for several" for name, count in ids.items() if count > 1]
    ids = Counter(event.local_event_id for event in report.events)
    wrong += [f"events: {name} stands for several" for name, count in ids.items() if count > 1]
    wrong += [
        f"characters, {person.local_character_id}: name_or_description is empty"
        for person in report.characters
        if not person.name_or_description.strip()
    ]
    wrong += [
        f"events, {event.local_event_id}: summary is empty" for event in report.events if not event.summary.strip()
    ]
    timed: list[_Happening | _Turn] = [*report.events, *report.speaker_turns]
    for item in timed:
        fault = _time_fault(item.time_start, item.time_end, length)
        if fault:
            wrong.append(f"{_where(item)}: {fault}")
    return wrong


def _time_fault(start: float, end: float, length: float) -> str:
    near = max(_FEW_SECONDS, length / 10)
    if end < start:
        return f"time_end {end} is before time_start {start}"
    if start < -near or end > length + near or start > length + near:
        return f"{start} to {end} is outside the clip, which is {length} long; times are seconds from the clip's start"
    return ""


def settle(report: Report, clip: Clip) -> tuple[ClipAnalysis, list[str]]:
    """The analysis that a sensible report amounts to, and what did not fit; local ids stay as they are.

    Times slightly outside the clip are moved to its edge. The wearer is no character.
    """
    length = clip_seconds(clip)
    analysis = ClipAnalysis.model_validate(report.model_dump())
    problems = _into_clip((*analysis.events, *analysis.speaker_turns), length)
    if any(person.local_character_id == WEARER for person in analysis.characters):
        problems.append("the wearer was listed among the characters")
        analysis.characters = [person for person in analysis.characters if person.local_character_id != WEARER]
    modality = _modality(clip)
    for event in analysis.events:
        event.modality = modality
    return analysis, problems + _dangling(analysis)


def _into_clip(items: Sequence[Any], length: float) -> list[str]:
    """Moves times to the edge of the clip where they are beyond it."""
    problems = []
    for item in items:
        start, end = (min(max(time, 0.0), length) for time in (item.time_start, item.time_end))
        if (start, end) != (item.time_start, item.time_end):
            problems.append(f"{_where(item)}: {item.time_start} to {item.time_end} was cut to the clip's {length} s")
            item.time_start, item.time_end = start, end
    return problems


def _dangling(analysis: ClipAnalysis) -> list[str]:
    """Actors and speakers that nobody described."""
    people = {person.local_character_id for person in analysis.characters} | {WEARER}
    speakers = [turn.speaker_id for turn in analysis.speaker_turns]
    heard = people | {name for name in speakers if _VOICE.fullmatch(name)}
    used = [(turn.speaker_id, "speaker") for turn in analysis.speaker_turns]
    for event in analysis.events:
        used += [(name, f"actor of {event.local_event_id}") for name in event.actors]
        used += [(action.actor, f"actor of {event.local_event_id}") for action in event.actions]
    return [f'{role}: nobody has the id "{name}"' for name, role in dict.fromkeys(used) if name not in heard]


def _alike(handles: dict[str, str]) -> list[str]:
    """Persons of one clip under one handle."""
    return [
        f"several persons got the handle {name}: {', '.join(text for text in handles if handles[text] == name)}"
        for name, count in Counter(handles.values()).items()
        if count > 1
    ]


def _modality(clip: Clip) -> Modality:
    if clip.frames:
        return "seen"
    return "told" if clip.audio is None else "heard"


def _where(item: Any) -> str:
    if hasattr(item, "local_event_id"):
        return f"events, {item.local_event_id}"
    return f"speaker_turns, {item.speaker_id}"


def _flat(text: str) -> str:
    return " ".join(text.split())
