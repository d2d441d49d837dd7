"""Settings: configs/default.toml, then --config FILE, then AMR_* in the environment, then flags."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from amr.errors import BadInput
from amr.resources import resource

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PREFIX = "AMR_"


class SpeechSettings(BaseModel, extra="forbid"):
    """How speech becomes words."""

    recogniser: Literal["auto", "whisper", "pocketsphinx", "none"]
    model: str
    download: Literal["auto", "never"]


class TextInViewSettings(BaseModel, extra="forbid"):
    """Which of the reader's findings are believed."""

    enabled: bool
    min_score: float = Field(ge=0, le=1)
    min_letters: int = Field(ge=1)


class RetrieveSettings(BaseModel, extra="forbid"):
    """How anchors are found."""

    anchors: int = Field(ge=1)
    lane_depth: int = Field(ge=1)
    rrf_constant: int = Field(ge=1)


class Settings(BaseModel, extra="forbid"):
    """All settings of one command. Times in seconds, sizes in pixels."""

    clip_seconds: float = Field(gt=0, le=3600)
    frames_per_clip: int = Field(ge=1, le=64)
    frame_size: int = Field(ge=64, le=4096)
    frames: Literal["uniform", "keyframes"]
    perceiver: Literal["embedded", "null"]
    captions_kind: Literal["auto", "speech", "narration"]
    speech: SpeechSettings
    text_in_view: TextInViewSettings
    retrieve: RetrieveSettings


def load_settings(config: Path | None = None, **flags: Any) -> Settings:
    """The settings of a command; `flags` that are None count as not given.

    Raises BadInput when a file or a value cannot be used.
    """
    layers: list[Mapping[str, Any]] = [_read(resource("configs/default.toml"))]
    if config is not None:
        layers.append(_read(config))
    layers += [_environment(), {name: value for name, value in flags.items() if value is not None}]
    merged: dict[str, Any] = {}
    for layer in layers:
        merged = _over(merged, layer)
    try:
        return Settings(**merged)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"The setting {name} cannot be used: {first['msg']}.") from error


def _read(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise BadInput(f"The config file {file} does not exist; check the path given to --config.")
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"The config file {file} cannot be read ({error.strerror}); check its rights.") from error
    except ValueError as error:
        raise BadInput(f"The config file {file} is not valid TOML: {error}.") from error


def _environment() -> dict[str, Any]:
    """What AMR_* says, with `__` between a section and its key. Other AMR_* names, such as AMR_MEMORY, are skipped."""
    found: dict[str, Any] = {}
    for variable, text in os.environ.items():
        section, _, key = variable.lower().removeprefix(_PREFIX.lower()).partition("__")
        if not variable.upper().startswith(_PREFIX) or section not in Settings.model_fields:
            continue
        found = _over(found, {section: {key: text}} if key else {section: text})
    return found


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Settings laid over others, section by section."""
    merged = dict(below)
    for name, value in above.items():
        old = merged.get(name)
        merged[name] = _over(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged
