"""Look-alikes: handles that may well be one person, for somebody to settle.

They are a function of the handles that are there and of the clips they are in, so the order of arrival has no say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from amr.models.embedding import embed
from amr.records import WEARER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from amr.store.people import Classes
    from amr.store.rows import View
    from amr.store.snapshot import Snapshot

LEAST_SPELLING = 0.88
"""Jaro-Winkler similarity of two handles, with words in order of the alphabet."""

LEAST_MEANING = 0.75
"""Cosine of two descriptions of at least two words; single names mean nothing."""

_BLOCK = 512
_UNNAMED = (WEARER, "someone", "unknown")
_VOICE = "voice_"


@dataclass(frozen=True)
class Proposal:
    """Two handles, in alphabetical order, that may be one person. `why` is `spelling` or `meaning`; score to 1."""

    handles: tuple[str, str]
    why: str
    score: float


def proposals(snapshot: Snapshot, view: View) -> list[Proposal]:
    """The look-alikes in what a view sees, best first; none that is settled, or that were seen together."""
    people = snapshot.people
    handles = [name for name in people.persons(view) if name not in _UNNAMED and not name.startswith(_VOICE)]
    classes = people.classes(view)
    settled = [pair.handles for pair in people.settled(view)]
    found = [
        pair
        for pair in look_alikes(handles)
        if pair.handles[1] not in classes.of(pair.handles[0])
        and not any(_alike(classes, one, pair.handles) for one in settled)
    ]
    # Two that a clip tells apart are two.
    clips = people.clips_of(view, {name for pair in found for name in pair.handles})
    return [pair for pair in found if not clips[pair.handles[0]] & clips[pair.handles[1]]]


def _alike(classes: Classes, settled: tuple[str, str], pair: tuple[str, str]) -> bool:
    """Whether two pairs of handles are about the same two persons."""
    persons = {classes.of(name) for name in settled}
    return persons == {classes.of(name) for name in pair}


def look_alikes(handles: Sequence[str]) -> list[Proposal]:
    """The pairs of handles that look or mean nearly the same, best first."""
    from rapidfuzz.distance import JaroWinkler
    from rapidfuzz.process import cdist

    names = sorted(set(handles))
    spelled = [" ".join(sorted(name.split("_"))) for name in names]
    meant = embed([name.replace("_", " ") for name in names])
    meant[[" " not in text for text in spelled]] = 0.0
    found = []
    for first in range(0, len(names), _BLOCK):
        block = slice(first, first + _BLOCK)
        spelling = cdist(spelled[block], spelled, scorer=JaroWinkler.normalized_similarity, dtype=np.float64)
        meaning = meant[block].astype(np.float64) @ meant.T
        # The same on every machine.
        spelling, meaning = np.round(spelling, 4), np.round(meaning, 4)
        for row, column in np.argwhere((spelling >= LEAST_SPELLING) | (meaning >= LEAST_MEANING)):
            if first + row < column:
                scores = (("spelling", float(spelling[row, column])), ("meaning", float(meaning[row, column])))
                why, score = max(scores, key=lambda one: one[1])
                found.append(Proposal((names[first + row], names[column]), why, score))
    return sorted(found, key=lambda pair: (-pair.score, pair.handles))
