"""A role's model: who is asked, within which limits, and how its prompts are named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from amr.models.calls import RecordedChat
from amr.models.chat import ChatRequest, Media
from amr.models.prompts import Prompt, render
from amr.models.structured import Structured, ask_json

if TYPE_CHECKING:
    from amr.config import Role
    from amr.models.open import Models

_Shape = TypeVar("_Shape", bound=BaseModel)

_MOST_RAW = 6000
"""Characters of an unusable reply that the model is shown again."""


@dataclass(frozen=True)
class RoleModel:
    """The model of a role, with the limits set for it."""

    role: Role
    chat: RecordedChat
    max_tokens: int
    reasoning_effort: str = ""

    def ask(
        self,
        prompt: str,
        values: dict[str, Any],
        shape: type[_Shape],
        check: Callable[[_Shape], Sequence[str]],
        media: tuple[Media, ...] = (),
    ) -> Structured[_Shape]:
        """The reply to `prompts/<prompt>.md`; an unfit one is asked for again with `prompts/<prompt>_strict.md`.

        Raises as `ask_json` does.
        """

        def strict(problem: str, raw: str) -> Prompt:
            return render(f"{prompt}_strict", **values, problem=problem, raw=raw[:_MOST_RAW])

        rendered = render(prompt, **values)
        request = ChatRequest(
            role=self.role,
            prompt=rendered.name,
            prompt_hash=rendered.hash,
            text=rendered.text,
            media=media,
            max_tokens=self.max_tokens,
            reasoning_effort=self.reasoning_effort,
        )
        return ask_json(self.chat, request, shape, strict, check)


def role_model(models: Models, role: Role) -> RoleModel:
    """The model of a role by the settings. Raises ProviderError when it has no key."""
    wanted = models.settings.roles[role]
    return RoleModel(role, models.chat(role), wanted.max_tokens, wanted.reasoning_effort)
