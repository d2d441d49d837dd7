"""What a run is made with, so that it can be made again: the code, the files, the settings, the prompts."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blake3 import blake3

from amr.models.prompts import prompt_hash
from amr.resources import resource

if TYPE_CHECKING:
    from amr.config import Settings

_SECRET = "api_key"


@cache
def code_version() -> dict[str, Any]:
    """The package's version, and the checkout's commit and whether it was changed since; None outside of one."""
    from amr import __version__

    package = Path(__file__).parents[1]
    root, commit = _git(package, "rev-parse", "--show-toplevel"), _git(package, "rev-parse", "HEAD")
    # A package that is installed within some other checkout is not of that checkout's commit.
    if root is None or Path(root).resolve() != package.parent.resolve():
        return {"version": __version__, "commit": None, "changed": None}
    return {"version": __version__, "commit": commit, "changed": bool(_git(package, "status", "--porcelain", "."))}


def _git(directory: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=directory, capture_output=True, encoding="utf-8", check=False
        )  # fmt: skip
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def machine() -> dict[str, str]:
    """What latencies depend on."""
    return {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}


def sha256(path: Path) -> str:
    """SHA-256 (hex) of a file, or of the names and contents of the files in a folder."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        told = [f"{file.relative_to(path).as_posix()} {sha256(file)}\n" for file in files]
        return hashlib.sha256("".join(told).encode()).hexdigest()
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def settings_told(settings: Settings) -> dict[str, Any]:
    """All settings but the keys."""
    told: dict[str, Any] = _without_keys(settings.model_dump())
    return told


def _without_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_keys(inner) for name, inner in value.items() if not str(name).endswith(_SECRET)}
    return value


def prompts_told() -> dict[str, str]:
    """The hash of every prompt that ships."""
    return {file.stem: prompt_hash(file.stem) for file in sorted(resource("prompts").glob("*.md"))}


def configs_told() -> dict[str, str]:
    """The hash of every file of constants that ships: weights, words, channels."""
    files = sorted(file for file in resource("configs").iterdir() if file.is_file())
    return {file.name: blake3(file.read_bytes()).hexdigest()[:16] for file in files}
