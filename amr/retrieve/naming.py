"""What else a thing may be called: other words for its last ones, "trash can" for "bin", and when two names agree."""

from __future__ import annotations

from functools import lru_cache

from amr.language.lemmas import singular
from amr.retrieve.calibration import calibration

_LONGEST = 3
"""Other names are of one to three words."""


@lru_cache(maxsize=1024)
def names_of(words: tuple[str, ...]) -> tuple[tuple[tuple[str, ...], frozenset[str]], ...]:
    """The names of a thing given by the words of its handle: (last words, the words that must stand somewhere before).

    What a thing is like, "white" or "old", need not be said again.
    """
    optional = calibration().attributes | calibration().loose
    found = [(words[-1:], frozenset(words[:-1]) - optional)]
    for length in range(1, min(_LONGEST, len(words)) + 1):
        rest = frozenset(words[:-length]) - optional
        for other in sorted(calibration().synonyms.get("_".join(words[-length:]), ())):
            found.append((tuple(other.split("_")), rest))
    return tuple(found)


def same_thing(wanted: tuple[str, ...], known: tuple[str, ...]) -> bool:
    """Whether a handle of the memory may name the thing: the same last words, and no word that says otherwise."""
    ends = tuple(singular(word) for word in known)
    for last, must in names_of(wanted):
        if ends[-len(last) :] == last and {singular(word) for word in must} <= {*known, *ends}:
            return not _differ(wanted, known)
    return False


def _differ(wanted: tuple[str, ...], known: tuple[str, ...]) -> bool:
    """Whether both names say what the thing is like, and not the same: a white box is no black box."""
    attributes = calibration().attributes
    mine, theirs = set(wanted[:-1]) & attributes, set(known[:-1]) & attributes
    return bool(mine and theirs and not mine & theirs)
