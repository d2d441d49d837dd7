"""Finds the files that ship beside the code: `configs/`, `prompts/` (and the embedder's data in the package)."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent


def resource(relative: str) -> Path:
    """The path of a shipped file such as `configs/default.toml`, in a wheel or in a checkout."""
    installed = _PACKAGE / relative
    return installed if installed.exists() else _PACKAGE.parent / relative
