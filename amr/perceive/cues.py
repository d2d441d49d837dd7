"""Captions → analysis: a cue is somebody's speech or the wearer's narration, one event per remark."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from amr.language.names import handle, split_speaker
from amr.language.reading import is_narration, read_sentence
from amr.records import WEARER, Action, Character, Clip, EventReport, SpeakerTurn

UNKNOWN_SPEAKER = "voice_unknown"
"""Somebody who was heard but not named: a voice, not a character."""

_DASH = re.compile(r"\s*[-–—]\s*(?=[^\W\d])")
"""Opens the remark of another person in a cue."""

_SOUND = re.compile(r"\[[^\[\]]*\]|\([^()]*\)|♪.*|#[^#]*#")
"""A caption for people who cannot hear: [door slams], ♪ la la ♪."""

CaptionsKind = Literal["auto", "speech", "narration"]


@dataclass
class Captioned:
    """What the cues of a clip say: events in order of time, turns, and the persons they name.

    `wearer` holds the handles under which the cues may name the wearer.
    """

    events: list[EventReport] = field(default_factory=list)
    turns: list[SpeakerTurn] = field(default_factory=list)
    characters: list[Character] = field(default_factory=list)
    narrated: int = 0
    wearer: frozenset[str] = frozenset()

    def identity(self, name: str) -> str:
        """The handle of a person whom the cues name so."""
        known_as = handle(name)
        return WEARER if known_as in self.wearer else known_as


@dataclass(frozen=True)
class Remark:
    """One person's words in a cue, or words without a name; several languages are joined by ` / `."""

    speaker: str | None
    text: str


def read_cues(clip: Clip, kind: CaptionsKind) -> Captioned:
    """The events, turns and characters of a clip's cues; `kind` settles what unnamed remarks are.

    A cue that brings a kind of its own is of that kind.
    """
    found = Captioned(wearer=frozenset(handle(name) for name in clip.wearer))
    for cue in clip.cues:
        start, end = ((time - clip.start_ms) / 1000 for time in (cue.start_ms, cue.end_ms))
        told = cue.kind or kind
        for remark in remarks(cue.text) if cue.kind != "narration" else [Remark(None, " ".join(cue.text.split()))]:
            if _is_sound(remark):
                says = _sound_event(remark)
            elif _is_narrated(remark, told):
                says = _narrated_event(remark, found)
                found.narrated += 1
            else:
                says = _spoken_event(remark, found)
                found.turns.append(
                    SpeakerTurn(speaker_id=says["actors"][0], utterance=remark.text, time_start=start, time_end=end)
                )
            number = f"e{len(found.events) + 1}"
            found.events.append(
                EventReport(local_event_id=number, time_start=start, time_end=end, ref=cue.ref, **{**_NOTHING, **says})
            )
    return found


def remarks(text: str) -> list[Remark]:
    """The remarks of a cue: a line without a name or a dash goes on with the remark before it.

    Lines of one speaker are one remark; the same words in a second language follow after ` / `, also where
    the name is written in that language's script too.
    """
    found: list[Remark] = []
    for line in text.splitlines():
        opens = _DASH.match(line) is not None
        speaker, words = split_speaker(_DASH.sub("", line))
        words = " ".join(words.split())
        before = found[-1] if found else None
        if not words:
            continue
        if before and not opens and (speaker in (None, before.speaker) or _is_translation(before, speaker, words)):
            found[-1] = Remark(speaker or before.speaker, _join(before.text, words))
        else:
            found.append(Remark(speaker, words))
    return found


def _is_translation(before: Remark, speaker: str | None, words: str) -> bool:
    """Whether name and words are both in another script than those before: `俢硕: 对`, then `Shure: Right.`"""
    named = before.speaker is not None and speaker is not None
    return named and _is_wide(str(before.speaker)) and _is_wide(before.text) and not _is_wide(f"{speaker}{words}")


def _is_sound(remark: Remark) -> bool:
    return remark.speaker is None and _SOUND.fullmatch(remark.text) is not None


def _is_narrated(remark: Remark, kind: CaptionsKind) -> bool:
    if remark.speaker is not None:
        return False
    return is_narration(_readable(remark.text)) if kind == "auto" else kind == "narration"


_NOTHING: dict[str, Any] = {"actors": [], "objects": [], "dialogue": [], "actions": []}
"""Given along with every event: defaults take longer to copy than all else takes to check."""


def _sound_event(remark: Remark) -> dict[str, Any]:
    sound = remark.text.strip("[]()♪# ")
    return {"summary": f"Sound: {sound}." if sound else "Music plays.", "modality": "heard"}


def _narrated_event(remark: Remark, found: Captioned) -> dict[str, Any]:
    reading = read_sentence(_readable(remark.text))
    _add_characters(found, reading.persons)
    known = {WEARER, *(found.identity(person) for person in reading.persons)}
    actions = _with_handles(reading.actions, found)
    acting = [action.actor for action in actions if action.actor in known]
    return {
        "summary": remark.text,
        "actors": list(dict.fromkeys(acting)) or ([WEARER] if reading.narration else []),
        "objects": reading.objects,
        "actions": actions,
        "modality": "told",
        "certain": reading.certain,
    }


def _spoken_event(remark: Remark, found: Captioned) -> dict[str, Any]:
    """What is said; an action in it was not seen happening, so `certain` is of the words' own kind."""
    speaker = UNKNOWN_SPEAKER if remark.speaker is None else found.identity(remark.speaker)
    reading = read_sentence(_readable(remark.text), remark.speaker or UNKNOWN_SPEAKER)
    acting = {action.actor for action in reading.actions}
    named = [person for person in reading.persons if person in acting]
    _add_characters(found, [*([remark.speaker] if remark.speaker else []), *named])
    return {
        "summary": f'{remark.speaker or "Someone"} says: "{remark.text}"',
        "actors": [speaker],
        "objects": reading.objects,
        "dialogue": [remark.text],
        "actions": _with_handles(reading.actions, found),
        "modality": "heard",
        "certain": reading.certain,
    }


def _with_handles(actions: Sequence[Action], found: Captioned) -> list[Action]:
    named = ((action, found.identity(action.actor)) for action in actions)
    return [one if one.actor == actor else one.model_copy(update={"actor": actor}) for one, actor in named]


def _add_characters(found: Captioned, names: Sequence[str]) -> None:
    known = {WEARER, UNKNOWN_SPEAKER, *(character.local_character_id for character in found.characters)}
    for name in names:
        identity = found.identity(name)
        if identity not in known:
            known.add(identity)
            found.characters.append(Character(local_character_id=identity, name_or_description=name))


def _join(before: str, after: str) -> str:
    """Two lines of one remark: wrapped lines are one sentence, another script is another language."""
    if after.casefold().strip(" .") == before.casefold().strip(" ."):
        return after
    return f"{before} / {after}" if _is_wide(before) != _is_wide(after) else f"{before} {after}"


def _readable(text: str) -> str:
    """The part of a remark in letters that the English reader knows; the whole if there is none."""
    parts = [part for part in text.split(" / ") if not _is_wide(part)]
    return " ".join(parts) if parts else text


def _is_wide(text: str) -> bool:
    """Whether most of the text is Chinese, Japanese or Korean, of which a character says as much as three."""
    if text.isascii():
        return False
    letters = re.sub(r"[\W\d_]", "", text)
    wide = sum(unicodedata.east_asian_width(letter) == "W" for letter in letters)
    return wide > 0 and 3 * wide >= len(letters) - wide
