"""Settings that put the models of the test server to work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from amr.config import Settings, load_settings

KEY = "test-key"
USD_PER_MILLION = {"usd_per_million_input": 1.25, "usd_per_million_output": 10.0}


def modelled(base_url: str, *, merge: str = "off", jobs: int = 1, **more: Any) -> dict[str, Any]:
    """Settings with the test server of mode "local" for everything, at a price."""
    sees, embeds = f"{base_url}#qwen2.5-omni", f"{base_url}#local-embedder"
    return {
        "perceiver": sees,
        "embedder": embeds,
        "embedding_dimensions": 384,
        "jobs": jobs,
        "frame_size": 320,
        "merge": {"enabled": merge},
        "patience": {"first_wait_s": 0.02, "total_s": 20.0},
        "models": {sees: {"video": True, "audio": True, **USD_PER_MILLION}, embeds: USD_PER_MILLION},
        **more,
    }


def settings(base_url: str, **more: Any) -> Settings:
    """The same as `load_settings` gives it."""
    return load_settings(None, **modelled(base_url, **more))


def config_file(folder: Path, base_url: str, **more: Any) -> Path:
    """The same as a file for --config."""
    file = folder / "models.toml"
    plain, tables = [], []
    for name, value in modelled(base_url, **more).items():
        if name == "models":
            for model, fields in value.items():
                tables += [f'[models."{model}"]', *_lines(fields)]
        elif isinstance(value, dict):
            tables += [f"[{name}]", *_lines(value)]
        else:
            plain += _lines({name: value})
    file.write_text("\n".join([*plain, *tables]) + "\n")
    return file


def _lines(fields: dict[str, Any]) -> list[str]:
    return [f"{name} = {_toml(value)}" for name, value in fields.items()]


def _toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)
