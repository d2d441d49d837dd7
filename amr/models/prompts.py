"""The prompts, one Markdown file each under `prompts/`, rendered with Jinja."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from blake3 import blake3

from amr.resources import resource

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True)
class Prompt:
    """A rendered prompt, with the name and the hash of the file it came from."""

    name: str
    hash: str
    text: str


def render(name: str, /, **values: Any) -> Prompt:
    """The prompt `prompts/<name>.md` with its values filled in; a value that is missing is an error."""
    text = _environment().get_template(f"{name}.md").render(**values).strip()
    return Prompt(name, prompt_hash(name), text)


@lru_cache(maxsize=128)
def prompt_hash(name: str) -> str:
    """BLAKE3 (hex) of a prompt's file and of the files it includes."""
    sources: dict[str, str] = {}
    _gather(f"{name}.md", sources)
    return blake3(json.dumps(sorted(sources.items())).encode()).hexdigest()


def _gather(file: str, sources: dict[str, str]) -> None:
    from jinja2 import meta

    environment = _environment()
    assert environment.loader is not None
    sources[file] = environment.loader.get_source(environment, file)[0]
    for other in meta.find_referenced_templates(environment.parse(sources[file])):
        if other is not None and other not in sources:
            _gather(other, sources)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(resource("prompts")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,  # of files that are included
        autoescape=False,
    )
    environment.filters["json"] = _json
    environment.filters["json_line"] = _json_line
    return environment


def _json(value: Any) -> str:
    bool(value)  # of a value that is missing, this raises the error that names it
    return json.dumps(value, ensure_ascii=False, indent=1)


def _json_line(value: Any) -> str:
    bool(value)
    return json.dumps(value, ensure_ascii=False)
