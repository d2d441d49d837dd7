"""The embedded perceiver: captions or speech, text in view, cuts and stillness, with what is on the machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from amr.perceive.cues import UNKNOWN_SPEAKER, Captioned, read_cues
from amr.perceive.motion import frames_to_read, is_still, scene_cuts, thumbnail
from amr.perceive.speech import Recogniser, Utterance, recognise
from amr.perceive.text_in_view import Text, read_text
from amr.records import Clip, ClipAnalysis, EventReport, SpeakerTurn, TextInView

if TYPE_CHECKING:
    from amr.config import Settings


def perceive_clip(clip: Clip, settings: Settings, recogniser: Recogniser) -> ClipAnalysis:
    """What can be told of one clip; depends on nothing but its arguments. A given analysis is returned as is."""
    if clip.analysis is not None:
        return clip.analysis
    spoken = read_cues(clip, settings.captions_kind) if clip.captioned or clip.cues else _listen(clip, recogniser)
    frames = clip.frames
    thumbnails = [thumbnail(frame) for frame in frames]
    texts: list[Text] = []
    if settings.text_in_view.enabled:
        texts = read_text(frames_to_read(frames, thumbnails), settings.text_in_view)
    return ClipAnalysis(
        clip_summary=summarise(spoken, texts),
        characters=spoken.characters,
        speaker_turns=spoken.turns,
        events=_in_order([*spoken.events, *(_text_event(text, clip) for text in texts)]),
        text_in_view=[
            TextInView(text=text.text, time=_seconds(text.time_ms, clip), score=text.score) for text in texts
        ],
        scene_cuts=[_seconds(time, clip) for time in scene_cuts(frames, thumbnails)],
        still=is_still(thumbnails),
    )


def summarise(spoken: Captioned, texts: Sequence[Text]) -> str:
    """One plain sentence on what was found, counting rather than telling."""
    understood = sum(bool(turn.utterance) for turn in spoken.turns)
    unclear = len(spoken.events) - spoken.narrated - understood
    parts = [
        _count(spoken.narrated, "narrated event"),
        _count(understood, "remark"),
        "speech without words" if unclear else "",
        "text in view: " + ", ".join(f'"{text.text}"' for text in texts) if texts else "",
    ]
    found = ", ".join(part for part in parts if part)
    return found[0].upper() + found[1:] + "." if found else "Nothing was recognised."


def _listen(clip: Clip, recogniser: Recogniser) -> Captioned:
    found = Captioned()
    for utterance in recognise(clip.audio, recogniser) if clip.audio is not None else []:
        if utterance.text:
            found.turns.append(
                SpeakerTurn(
                    speaker_id=UNKNOWN_SPEAKER,
                    utterance=utterance.text,
                    time_start=utterance.start,
                    time_end=utterance.end,
                    rough=utterance.rough,
                )
            )
        found.events.append(_heard_event(utterance))
    return found


def _heard_event(utterance: Utterance) -> EventReport:
    says = "says something like" if utterance.rough else "says"
    return EventReport(
        local_event_id="",
        time_start=utterance.start,
        time_end=utterance.end,
        summary=f'Someone {says}: "{utterance.text}"' if utterance.text else "Someone speaks.",
        actors=[UNKNOWN_SPEAKER],
        dialogue=[utterance.text] if utterance.text else [],
        modality="heard",
        certain=not utterance.rough,
    )


def _text_event(text: Text, clip: Clip) -> EventReport:
    # At the moment of its reading, so that the frame kept of the event is one that shows the text.
    moment = _seconds(text.time_ms, clip)
    return EventReport(
        local_event_id="",
        time_start=moment,
        time_end=moment,
        summary=f'The text "{text.text}" is in view.',
        modality="read",
    )


def _in_order(events: Sequence[EventReport]) -> list[EventReport]:
    """The events by start, what is heard or told before what is read, numbered from e1."""
    ordered = sorted(events, key=lambda event: event.time_start)
    numbered = ((f"e{n}", event) for n, event in enumerate(ordered, start=1))
    return [
        event if event.local_event_id == number else event.model_copy(update={"local_event_id": number})
        for number, event in numbered
    ]


def _seconds(milliseconds: int, clip: Clip) -> float:
    return (milliseconds - clip.start_ms) / 1000


def _count(number: int, noun: str) -> str:
    if number == 0:
        return ""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
