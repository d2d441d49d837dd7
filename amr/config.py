"""Settings: configs/default.toml, then --config FILE, then AMR_* in the environment, then flags."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from amr.errors import BadInput, UsageError
from amr.models.names import parse_model_name
from amr.resources import resource

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PREFIX = "AMR_"


RECOGNISERS = ("auto", "whisper", "pocketsphinx", "none")


class SpeechSettings(BaseModel, extra="forbid"):
    """How speech becomes words: by one of RECOGNISERS, or by a model that transcribes."""

    recogniser: str
    model: str
    download: Literal["auto", "never"]
    api_key: str = Field(default="", repr=False)

    @field_validator("recogniser")
    @classmethod
    def _is_known(cls, name: str) -> str:
        return name if name in RECOGNISERS else _model_name(name)

    @property
    def asks_model(self) -> bool:
        """Whether a model is called for it."""
        return self.recogniser not in RECOGNISERS


class TextInViewSettings(BaseModel, extra="forbid"):
    """Which of the reader's findings are believed."""

    enabled: bool
    min_score: float = Field(ge=0, le=1)
    min_letters: int = Field(ge=1)


class RetrieveSettings(BaseModel, extra="forbid"):
    """How anchors are found."""

    context_tokens: int = Field(ge=100)
    anchors: int = Field(ge=1)
    lane_depth: int = Field(ge=1)
    rrf_constant: int = Field(ge=1)
    judged: int = Field(ge=1)


class EvalSettings(BaseModel, extra="forbid"):
    """What a model is shown of the evidence for a benchmark's question: how many pieces, and tokens of them."""

    k: int = Field(ge=1)
    context_tokens: int = Field(ge=100)


Role = Literal["perceive", "handles", "summaries", "merge", "refine", "type", "verify", "answer", "judge", "facts"]
"""What a model is called for: from `type` on, only where a model is named for it; `judge` by evaluations alone."""

_READING: tuple[Role, ...] = ("type", "verify", "answer")
_NAMED: tuple[Role, ...] = (*_READING, "judge", "facts")


class RoleSettings(BaseModel, extra="forbid"):
    """How a model is called for a role. No `model` means the perceiver's; none where a model must be named."""

    model: str = ""
    max_tokens: int = Field(ge=16)
    reasoning_effort: str = "low"
    mode: Literal["direct", "batch"] = "direct"
    api_key: str = Field(default="", repr=False)


class PatienceSettings(BaseModel, extra="forbid"):
    """How long a provider is waited for, in seconds; `tries` is how often one call is sent."""

    total_s: float = Field(gt=0)
    answer_s: float = Field(gt=0)
    first_wait_s: float = Field(gt=0)
    tries: int = Field(ge=1)


class VerifySettings(BaseModel, extra="forbid"):
    """How evidence is grouped and what is dropped: `least` is a share of the best group's relevance."""

    group: Literal["path", "time"]
    gap_seconds: float = Field(ge=0)
    groups: int = Field(ge=1)
    least: float = Field(ge=0, le=1)


class MergeSettings(BaseModel, extra="forbid"):
    """When neighbouring events become one. `time_gap` in seconds."""

    enabled: Literal["auto", "on", "off"]
    lookback: int = Field(ge=1)
    time_gap: float = Field(ge=0)
    similarity: float = Field(ge=0, le=1)


class Settings(BaseModel, extra="forbid"):
    """All settings of one command. Times in seconds, sizes in pixels.

    `perceiver`, `embedder` and the models of `roles` are names as `amr.models.names` reads them; `models` says
    what a model accepts and costs where that differs from configs/models.toml.
    """

    clip_seconds: float = Field(gt=0, le=3600)
    frames_per_clip: int = Field(ge=1, le=64)
    frame_size: int = Field(ge=64, le=4096)
    frames: Literal["uniform", "keyframes"]
    perceiver: str
    embedder: str
    embedder_api_key: str = Field(default="", repr=False)
    embedding_dimensions: int | None = Field(default=None, ge=1)
    jobs: int = Field(ge=1, le=256)
    refine_actions: bool
    captions_kind: Literal["auto", "speech", "narration"]
    speech: SpeechSettings
    text_in_view: TextInViewSettings
    retrieve: RetrieveSettings
    verify: VerifySettings
    merge: MergeSettings
    patience: PatienceSettings
    eval: EvalSettings
    roles: dict[Role, RoleSettings]
    models: dict[str, dict[str, Any]] = Field(default_factory=dict)

    @field_validator("perceiver", "embedder")
    @classmethod
    def _names_a_model(cls, name: str) -> str:
        return name if name == "null" else _model_name(name)

    @property
    def perceives_with_model(self) -> bool:
        """Whether clips are perceived by a model rather than by rules."""
        return self.perceiver not in ("embedded", "null")

    @property
    def reads_with_model(self) -> bool:
        """Whether a model is called when a question is asked."""
        return any(self.model_of(role) for role in _READING)

    def model_of(self, role: Role) -> str:
        """The name of the model that a role calls; empty when no model is to be called for it."""
        return self.roles[role].model or ("" if role in _NAMED else self.perceiver)


def _model_name(name: str) -> str:
    """The name itself, if it is that of a model."""
    try:
        parse_model_name(name)
    except UsageError as error:
        raise PydanticCustomError("model_name", "{why}", {"why": str(error).rstrip(".")}) from error
    return name


def load_settings(config: Path | None = None, **flags: Any) -> Settings:
    """The settings of a command; `flags` that are None count as not given.

    Raises BadInput when a file or a value in one cannot be used, UsageError when a flag cannot.
    """
    layers: list[Mapping[str, Any]] = [_read(resource("configs/default.toml"))]
    if config is not None:
        # `configs/openrouter.toml` means the one that ships with the package, wherever the command is run.
        shipped = resource(config.as_posix()) if config.parent == Path("configs") else config
        layers.append(_read(config if config.is_file() else shipped))
    layers += [_environment(), {name: value for name, value in flags.items() if value is not None}]
    merged: dict[str, Any] = {}
    for layer in layers:
        merged = _over(merged, layer)
    try:
        return Settings(**merged)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        kind = UsageError if first["loc"] and flags.get(str(first["loc"][0])) is not None else BadInput
        raise kind(f"The setting {name} cannot be used: {first['msg']}.") from error


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
