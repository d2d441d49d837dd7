"""Merges that are likely to come: their calls are made while earlier clips are still being written.

A merge takes a summary and then a vector, and what comes after it may hang on both. Where the events of the next
clips are known already, most merges can be told before their turn; their replies are then on disk in time. Nothing
is decided here: a merge that does not come to pass has only been asked for in vain.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from amr.errors import ProviderError
from amr.records import Node
from amr.write.drafts import Draft, Submit
from amr.write.events import ClipPlace
from amr.write.merging import Merger, Recent, in_order, joined_node, partner_of


@dataclass
class Foresight:
    """Asks for the merges that are coming, each once."""

    merger: Merger
    _asked: set[tuple[str, str]] = field(default_factory=set)

    def look(self, latest: Sequence[Recent], coming: Sequence[Draft], submit: Submit) -> None:
        """Goes through the drafts that come next, after the events `latest`, and submits the calls of their merges."""
        unknown: set[int] = set()
        recent = [*latest]
        for draft in coming:
            for node, vector in zip(draft.nodes, draft.vectors if draft.vectors is not None else (), strict=False):
                recent = self._step(recent, Recent(node, vector), unknown, draft, submit)

    def _step(self, recent: list[Recent], new: Recent, unknown: set[int], draft: Draft, submit: Submit) -> list[Recent]:
        settings = self.merger.settings
        partner = partner_of(new, recent, settings)
        if partner is None:
            return in_order([*recent, new])[-settings.lookback :]
        pair = (partner.node.hash, new.node.hash)
        if id(partner.node) not in unknown and pair not in self._asked:
            self._asked.add(pair)
            # Copies: the events themselves are changed when it is their turn.
            submit(partial(self._ask, draft.place, replace(partner.node), replace(new.node)))
        whole = _guessed(partner, new)
        unknown.add(id(whole.node))
        return in_order([whole if one is partner else one for one in recent])

    def _ask(self, place: ClipPlace, first: Node, second: Node) -> None:
        with suppress(ProviderError):  # it is told when it is this merge's turn
            self.merger.described(place, first, second)


def _guessed(first: Recent, second: Recent) -> Recent:
    """What two events become, as far as it can be told without a model: the vector lies between theirs."""
    between = first.vector + second.vector
    length = float(np.linalg.norm(between)) or 1.0
    return Recent(joined_node(first.node, second.node, ""), between / length)
