"""Chooses the perceiver that the settings ask for: a pure function from a clip to what was perceived in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from blake3 import blake3

from amr.errors import ProviderError
from amr.models.names import parse_model_name
from amr.models.prompts import prompt_hash
from amr.perceive.perception import Perceived

if TYPE_CHECKING:
    from amr.config import Settings
    from amr.models.asking import RoleModel
    from amr.models.open import Models
    from amr.perceive.multimodal import Multimodal
    from amr.perceive.speech import Recogniser
    from amr.records import Clip, ClipAnalysis

VERSION = "embedded-1"
"""Raise it when the same clip under the same settings gives another analysis."""


@dataclass(frozen=True)
class Perceiver:
    """A perceiver ready for use.

    `perceive` depends on nothing but the clip, and any number may run at once. `settings_hash` takes whether
    the source has captions and stands for everything that changes the output; what changes only how a model describes
    what it saw comes after a dot. `notice` takes the same and says in one line what is and what is not perceived.
    `models` names the models by what they do.
    """

    name: str
    settings_hash: Callable[[bool], str]
    perceive: Callable[[Clip], Perceived]
    notice: Callable[[bool], str]
    models: dict[str, str] = field(default_factory=dict)


def load_perceiver(settings: Settings, models: Models | None = None) -> Perceiver:
    """The perceiver of these settings. Looks for a speech recogniser, which may ask the network for 3 s, once.

    A perceiver that is a model calls the `models` of the command. Raises ProviderError or UsageError when a
    recogniser that is asked for by name is not here, or a model has no key.
    """
    if settings.perceiver == "null":
        from amr.perceive.null import perceive_nothing

        return Perceiver("null", lambda captioned: _hash(["null", VERSION]), _plain(perceive_nothing), _null_notice)
    if settings.perceives_with_model:
        assert models is not None, "a perceiver that is a model calls the models of the command"
        return _model_perceiver(settings, models)
    from amr.perceive.embedded import perceive_clip
    from amr.perceive.speech import VOICE_ACTIVITY, choose_recogniser
    from amr.perceive.text_in_view import READER_NAME

    recogniser = choose_recogniser(settings.speech, models)
    reads = settings.text_in_view.enabled
    return Perceiver(
        name="embedded",
        settings_hash=partial(_settings_hash, settings=settings, recogniser=recogniser),
        perceive=_plain(partial(perceive_clip, settings=settings, recogniser=recogniser)),
        notice=partial(_embedded_notice, reads_text=reads, recogniser=recogniser),
        models={
            "voice_activity": VOICE_ACTIVITY,
            "speech": recogniser.name,
            "text_in_view": READER_NAME if reads else "none",
        },
    )


def _model_perceiver(settings: Settings, models: Models) -> Perceiver:
    from amr.models.asking import role_model
    from amr.perceive.multimodal import Multimodal, perceive_clip
    from amr.perceive.speech import NO_RECOGNISER, choose_recogniser

    sees = role_model(models, "perceive")
    takes = sees.chat.capabilities
    if not takes.images and not takes.video:
        raise ProviderError(
            f"The model {sees.chat.name} does not see; choose one that takes images or video, or say that it does "
            f'under [models."{sees.chat.name}"] in the config.'
        )
    using = Multimodal(
        sees,
        role_model(models, "handles"),
        role_model(models, "summaries"),
        settings.frame_size,
        NO_RECOGNISER if takes.audio else choose_recogniser(settings.speech, models),
        role_model(models, "refine") if settings.refine_actions else None,
    )
    return Perceiver(
        name=sees.chat.name,
        settings_hash=partial(_model_hash, settings=settings, using=using),
        perceive=partial(perceive_clip, using=using),
        notice=partial(_model_notice, using=using),
        models={
            **{role.role: role.chat.name for role in using.asked},
            "speech": sees.chat.name if takes.audio else using.recogniser.name,
        },
    )


def _model_hash(captioned: bool, *, settings: Settings, using: Multimodal) -> str:
    """BLAKE3 hex of what changes the output: the models, their limits and prompts, and what they are sent."""
    takes = using.perceive.chat.capabilities
    seen = [using.perceive] if using.refine is None else [using.perceive, using.refine]
    return (
        _hash(
            [
                "multimodal",
                VERSION,
                settings.frames_per_clip,
                settings.frame_size,
                settings.frames,
                _asked(seen),
                [takes.video, takes.images, takes.audio, takes.max_images, takes.max_media_bytes],
                None if captioned else using.recogniser.name,
            ]
        )
        + f".{described_hash(using.handles, using.summaries)}"
    )


def described_hash(handles: RoleModel, summaries: RoleModel) -> str:
    """BLAKE3 hex of what changes how an analysis is described."""
    return _hash(_asked([handles, summaries]))


def _asked(roles: Sequence[RoleModel]) -> list[object]:
    prompts = [name for role in roles for name in (role.role, f"{role.role}_strict")]
    limits = [[role.chat.name, role.max_tokens, role.reasoning_effort] for role in roles]
    return [limits, [prompt_hash(name) for name in prompts]]


def _model_notice(captioned: bool, *, using: Multimodal) -> str:
    takes = using.perceive.chat.capabilities
    sees = "the video of each clip" if takes.video else "frames of each clip"
    if takes.audio:
        hears = "hears its sound"
    elif captioned:
        hears = "reads its captions"
    else:
        hears = "does not hear" if using.recogniser.kind == "none" else f"reads what {using.recogniser.name} heard"
    model = parse_model_name(using.perceive.chat.name)
    sent = f"they are sent to {model.where}" if model.remote else "nothing leaves this machine"
    return f"{model} sees {sees} and {hears}; {sent}."


def _plain(analyse: Callable[[Clip], ClipAnalysis]) -> Callable[[Clip], Perceived]:
    """A perceiver that calls no model: there is nothing to tell but the analysis."""
    return lambda clip: Perceived(analyse(clip))


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
        "model": f"{recogniser.name}, which is sent the sound",
        "none": "heard, but not turned into words",
    }[recogniser.kind]
    fetch = "" if recogniser.kind in ("whisper", "model") else ", or fetch speech with `amr doctor --fetch speech`"
    return f"Embedded perceiver: {reads}; speech: {speech}. {blind}: give --captions FILE{fetch}."
