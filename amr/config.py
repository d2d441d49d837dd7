"""Settings: configs/default.toml, then --config FILE, then AMR_* in the environment, then flags."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from amr.errors import BadInput
from amr.resources import resource


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


class Settings(BaseSettings):
    """All settings of one command. Times in seconds, sizes in pixels."""

    model_config = SettingsConfigDict(env_prefix="AMR_", env_nested_delimiter="__", extra="forbid")

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
    if config is not None and not config.is_file():
        raise BadInput(f"The config file {config} does not exist; check the path given to --config.")
    files = [resource("configs/default.toml")] + ([config] if config else [])

    class _Layered(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            toml = [TomlConfigSettingsSource(settings_cls, file) for file in reversed(files)]
            return (init_settings, env_settings, *toml)

    try:
        return _Layered(**{name: value for name, value in flags.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"The setting {name} cannot be used: {first['msg']}.") from error
    except ValueError as error:
        raise BadInput(f"The config file {config} is not valid TOML: {error}.") from error
