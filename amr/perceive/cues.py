"""Captions → analysis: a cue is somebody's speech or the wearer's narration, one event per remark."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from amr.perceive.language import handle, is_narration, read_sentence, split_speaker
from amr.records import Character, Clip, Cue, EventReport, SpeakerTurn

UNKNOWN_SPEAKER = "voice_unknown"
"""Somebody who was heard but not named: a voice, not a character."""

CaptionsKind = Literal["auto", "speech", "narration"]


@dataclass
class Captioned:
    """What the cues of a clip say: events in order of time, turns, and the persons they name."""

    events: list[EventReport] = field(default_factory=list)
    turns: list[SpeakerTurn] = field(default_factory=list)
    characters: list[Character] = field(default_factory=list)
    narrated: int = 0


@dataclass(frozen=True)
class Remark:
    """One person's words in a cue, or words without a name; several languages are joined by ` / `."""

    speaker: str | None
    text: str


def read_cues(clip: Clip, kind: CaptionsKind) -> Captioned:
    """The events, turns and characters of a clip's cues; `kind` overrides what unnamed cues are taken for."""
    found = Captioned()
    for cue in clip.cues:
        times = _times(cue, clip)
        for remark in remarks(cue.text):
            if _is_narrated(remark, kind):
                _add_narration(found, remark, *times)
            else:
                _add_speech(found, remark, *times)
    return found


def remarks(text: str) -> list[Remark]:
    """The remarks of a cue: a line without a name goes on with the remark before it.

    Lines of one speaker are one remark; the same words in a second language follow after ` / `.
    """
    found: list[Remark] = []
    for line in text.splitlines():
        speaker, words = split_speaker(line)
        words = " ".join(words.split())
        if not words:
            continue
        if found and speaker in (None, found[-1].speaker):
            found[-1] = Remark(found[-1].speaker, _join(found[-1].text, words))
        else:
            found.append(Remark(speaker, words))
    return found


def _is_narrated(remark: Remark, kind: CaptionsKind) -> bool:
    if kind != "auto":
        return kind == "narration"
    return remark.speaker is None and is_narration(remark.text)


def _add_narration(found: Captioned, remark: Remark, start: float, end: float) -> None:
    reading = read_sentence(_readable(remark.text), remark.speaker)
    persons = [person for person in reading.persons if handle(person) != "wearer"]
    actors = _unique([action.actor for action in reading.actions] or ["wearer"])
    found.events.append(
        EventReport(
            local_event_id=f"e{len(found.events) + 1}",
            time_start=start,
            time_end=end,
            summary=remark.text,
            actors=actors,
            objects=reading.objects,
            actions=reading.actions,
            modality="told",
            certain=reading.certain,
        )
    )
    found.narrated += 1
    _add_characters(found, persons)


def _add_speech(found: Captioned, remark: Remark, start: float, end: float) -> None:
    reading = read_sentence(_readable(remark.text), remark.speaker)
    speaker = UNKNOWN_SPEAKER if remark.speaker is None else handle(remark.speaker)
    found.turns.append(SpeakerTurn(speaker_id=speaker, utterance=remark.text, time_start=start, time_end=end))
    found.events.append(
        EventReport(
            local_event_id=f"e{len(found.events) + 1}",
            time_start=start,
            time_end=end,
            summary=f'{remark.speaker or "Someone"} says: "{remark.text}"',
            actors=[speaker],
            objects=reading.objects,
            dialogue=[remark.text],
            actions=reading.actions,
            modality="heard",
            certain=reading.certain or not reading.actions,
        )
    )
    names = [remark.speaker] if remark.speaker else []
    _add_characters(found, names + list(reading.persons))


def _add_characters(found: Captioned, names: Sequence[str]) -> None:
    known = {character.local_character_id for character in found.characters}
    for name in names:
        identity = handle(name)
        if identity not in known:
            known.add(identity)
            found.characters.append(Character(local_character_id=identity, name_or_description=name))


def _times(cue: Cue, clip: Clip) -> tuple[float, float]:
    return (cue.start_ms - clip.start_ms) / 1000, (cue.end_ms - clip.start_ms) / 1000


def _join(before: str, after: str) -> str:
    """Two lines of one remark: wrapped lines are one sentence, another script is another language."""
    if after in before.split(" / "):
        return before
    return f"{before} / {after}" if _is_wide(before) != _is_wide(after) else f"{before} {after}"


def _readable(text: str) -> str:
    """The part of a remark in letters that the English reader knows; the whole if there is none."""
    parts = [part for part in text.split(" / ") if not _is_wide(part)]
    return " ".join(parts) if parts else text


def _is_wide(text: str) -> bool:
    """Whether the text is written in Chinese, Japanese or Korean characters for the most part."""
    letters = re.sub(r"[\W\d_]", "", text)
    return sum(unicodedata.east_asian_width(letter) == "W" for letter in letters) * 2 > len(letters)


def _unique(values: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(values))
