"""What verbs do to the state of things, from the classes of `configs/verbs.toml`."""

from __future__ import annotations

from functools import cache

from amr.language.lemmas import table

HELD = frozenset(("held", "taken_out", "worn"))
PLACED = frozenset(("located", "inside"))
GONE = frozenset(("thrown_away", "consumed", "lost"))
"""The classes of a thing that somebody has in hand, that lies somewhere, and that is no more."""


@cache
def _classes() -> dict[str, str]:
    """The class of each verb, with its particle where the table names one."""
    found: dict[str, str] = {}
    for name, entry in table("verbs")["state"].items():
        for verb in entry["verbs"]:
            found.setdefault(verb, name)
    return found


def state_of(verb: str) -> str | None:
    """The state in which an action leaves its object; a verb with an unknown particle counts as the bare verb."""
    known = _classes()
    bare, _, particle = verb.partition(" ")
    return known.get(verb) or (None if particle == "apart" else known.get(bare))


@cache
def state_classes(verb: str) -> frozenset[str]:
    """Every class that a bare verb belongs to, with or without particles."""
    return frozenset(name for phrase, name in _classes().items() if phrase.split(" ", 1)[0] == verb)


def verbs_of(state: str | None) -> frozenset[str]:
    """The verbs that leave a thing in a state."""
    return frozenset(verb for verb, name in _classes().items() if name == state)
