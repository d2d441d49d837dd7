"""Chooses the perceiver that the settings ask for: a pure function from a clip to what was perceived in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from blake3 import blake3

if TYPE_CHECKING:
    from amr.config import Settings
    from amr.perceive.speech import Recogniser
    from amr.records import Clip, ClipAnalysis

VERSION = "embedded-1"
"""Raise it when the same clip under the same settings gives another analysis."""


@dataclass(frozen=True)
class Perceiver:
    """A perceiver ready for use.

    `perceive` depends on nothing but the clip, and any number may run at once. `settings_hash` takes whether
    the source has captions and stands for everything that changes the output. `notice` takes the same and says
    in one line what is and what is not perceived. `models` names the models by what they do.
    """

    name: str
    settings_hash: Callable[[bool], str]
    perceive: Callable[[Clip], ClipAnalysis]
    notice: Callable[[bool], str]
    models: dict[str, str] = field(default_factory=dict)


def load_perceiver(settings: Settings) -> Perceiver:
    """The perceiver of these settings. Looks for a speech recogniser, which may ask the network for 3 s, once.

    Raises ProviderError or UsageError when a recogniser that is asked for by name is not here.
    """
    if settings.perceiver == "null":
        from amr.perceive.null import perceive_nothing

        return Perceiver("null", lambda captioned: _hash(["null", VERSION]), perceive_nothing, _null_notice)
    from amr.perceive.embedded import perceive_clip
    from amr.perceive.speech import VOICE_ACTIVITY, choose_recogniser
    from amr.perceive.text_in_view import READER_NAME

    recogniser = choose_recogniser(settings.speech)
    reads = settings.text_in_view.enabled
    return Perceiver(
        name="embedded",
        settings_hash=partial(_settings_hash, settings=settings, recogniser=recogniser),
        perceive=partial(perceive_clip, settings=settings, recogniser=recogniser),
        notice=partial(_embedded_notice, reads_text=reads, recogniser=recogniser),
        models={
            "voice_activity": VOICE_ACTIVITY,
            "speech": recogniser.name,
            "text_in_view": READER_NAME if reads else "none",
        },
    )


def _settings_hash(captioned: bool, *, settings: Settings, recogniser: Recogniser) -> str:
    """BLAKE3 hex of what changes the output; the recogniser is never asked about a captioned source."""
    return _hash(
        [
            "embedded",
            VERSION,
            settings.frames_per_clip,
            settings.frame_size,
            settings.frames,
            settings.captions_kind,
            None if captioned else recogniser.name,
            settings.text_in_view.model_dump(),
        ]
    )


def _hash(parts: list[object]) -> str:
    return blake3(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _null_notice(captioned: bool) -> str:
    return "Null perceiver: notes only that there is video, for measuring speed."


def _embedded_notice(captioned: bool, *, reads_text: bool, recogniser: Recogniser) -> str:
    sources = (["captions"] if captioned else []) + (["text in view"] if reads_text else [])
    reads = f"reads {' and '.join(sources)}" if sources else "reads nothing"
    blind = "It does not see people, objects or actions in the picture"
    if captioned:
        return f"Embedded perceiver: {reads}. {blind}: of these it knows what the captions say."
    speech = {
        "whisper": recogniser.name,
        "pocketsphinx": "pocketsphinx (rough, English only)",
        "none": "heard, but not turned into words",
    }[recogniser.kind]
    fetch = "" if recogniser.kind == "whisper" else ", or fetch speech with `amr doctor --fetch speech`"
    return f"Embedded perceiver: {reads}; speech: {speech}. {blind}: give --captions FILE{fetch}."
