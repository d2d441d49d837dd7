"""Questions asked one after another on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from amr.errors import AmrError

if TYPE_CHECKING:
    from amr.records import Answer

_PROMPT = "> "
_LEAVE = ("", "exit", "quit")


def converse(answer: Callable[[str, float | None], Answer], max_cost: float | None) -> None:
    """Prompts for questions and has `answer` print the answer to each, until Ctrl-D, an empty line or "exit".

    A question that cannot be answered is told as a sentence, and the next one may be asked; Ctrl-C ends it all.
    `answer` is told how many dollars are left of `max_cost`, which is for all of them together.
    """
    with suppress(ImportError):
        import readline  # noqa: F401, lets lines be edited and called back
    while True:
        try:
            question = _read()
        except EOFError:
            print(file=sys.stderr)
            return
        if question.strip().lower() in _LEAVE:
            return
        try:
            spent = answer(question, max_cost).usage.cost_usd
        except (AmrError, OSError) as error:
            print(error, file=sys.stderr, flush=True)
        else:
            max_cost = None if max_cost is None else max(0.0, max_cost - spent)


def _read() -> str:
    """A line from the terminal; the prompt stays out of an output that goes elsewhere."""
    if sys.stdout.isatty():
        return input(_PROMPT)
    print(_PROMPT, end="", file=sys.stderr, flush=True)
    return input()
