"""Adaptive merging: neighbouring events that are one continuous action become one node (AMR-Graph §4, design §4).

A new event is compared with the latest live events of its source and pass, so what is merged depends on what is
written and its order alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amr.config import MergeSettings, Settings
from amr.models.embedders import Embedder
from amr.models.open import Models
from amr.perceive.describe import Part
from amr.records import Node
from amr.write.events import ClipPlace, embedded_text, hash_of

LONGEST_MS = 60_000
MOST_PARENTS = 6

Vector = NDArray[np.float32]
Summarise = Callable[[Sequence[Part]], tuple[str, Counter[str]]]
"""From events that become one, in time order, to their one summary and what had to be mended for it."""


@dataclass
class Recent:
    """A live event with its vector."""

    node: Node
    vector: Vector


@dataclass
class Merged:
    """What merging makes of a clip's events.

    `written` are all new nodes, those that were merged away at once among them; `live` the new ones that stand;
    `retired` the events of earlier clips that became part of one of these. `latest` is what the next clip's events
    are compared with.
    """

    latest: list[Recent]
    written: list[Recent] = field(default_factory=list)
    retired: list[Node] = field(default_factory=list)
    merges: int = 0
    salvages: Counter[str] = field(default_factory=Counter)

    @property
    def live(self) -> list[Node]:
        """The new nodes that stand, in time order."""
        standing = [one.node for one in self.written if one.node.retired_at is None]
        return sorted(standing, key=lambda node: (node.t_start_ms or 0, node.clip_first or 0, node.node_id))


@dataclass(frozen=True)
class Merger:
    """Merges by these settings; `new_id` gives a node's id."""

    settings: MergeSettings
    embedder: Embedder
    summarise: Summarise
    new_id: Callable[[], int]
    key_fields: bool

    def merge(self, place: ClipPlace, latest: list[Recent], nodes: list[Node], vectors: Vector) -> Merged:
        """Numbers the events of one clip, given in time order, and merges them.

        Raises CallFailed or ProviderError when a summary cannot be had; nothing has happened then.
        """
        merged = Merged([*latest])
        for node, vector in zip(nodes, vectors, strict=True):
            node.node_id = self.new_id()
            self._take(place, merged, Recent(node, vector))
        return merged

    def _take(self, place: ClipPlace, merged: Merged, new: Recent) -> None:
        merged.written.append(new)
        partner = partner_of(new, merged.latest, self.settings)
        if partner is None:
            merged.latest = in_order([*merged.latest, new])[-self.settings.lookback :]
            return
        whole = self._joined(place, merged, partner, new)
        merged.written.append(whole)
        merged.merges += 1
        if not any(partner is one for one in merged.written):
            merged.retired.append(partner.node)
        partner.node.retired_at = new.node.retired_at = new.node.learnt_at
        merged.latest = in_order([whole if one is partner else one for one in merged.latest])

    def _joined(self, place: ClipPlace, merged: Merged, first: Recent, second: Recent) -> Recent:
        """The node of two events; a new one, with a summary and a vector of its own."""
        whole, salvages = self.described(place, first.node, second.node)
        merged.salvages += salvages
        whole.node.node_id = self.new_id()
        return whole

    def described(self, place: ClipPlace, first: Node, second: Node) -> tuple[Recent, Counter[str]]:
        """What two events become, without an id, and what had to be mended for its summary; may run in any thread.

        Raises CallFailed or ProviderError when a summary or a vector cannot be had.
        """
        text, salvages = self.summarise([_part(first), _part(second)])
        node = joined_node(first, second, text)
        node.hash = hash_of(node, place.source_key)
        return Recent(node, self.embedder.embed([embedded_text(node, self.key_fields)])[0]), salvages


def joined_node(first: Node, second: Node, text: str) -> Node:
    """The node that stands for two events, with this summary; its id and its hash are still to be given."""
    return Node(
        node_id=-1,
        kind="event",
        scope_id=first.scope_id,
        source_id=first.source_id,
        pass_id=first.pass_id,
        parent_id=first.parent_id,
        clip_first=min(first.clip_first or 0, second.clip_first or 0),
        clip_last=max(first.clip_last or 0, second.clip_last or 0),
        t_start_ms=min(first.t_start_ms or 0, second.t_start_ms or 0),
        t_end_ms=max(first.t_end_ms or 0, second.t_end_ms or 0),
        time_ms=first.time_ms,
        text=text,
        payload=_union(first, second),
        hash="",
        learnt_at=max(first.learnt_at, second.learnt_at),
    )


def merging(settings: Settings, kind: str) -> bool:
    """Whether the events of a source of this kind are merged."""
    if settings.merge.enabled == "auto":
        return settings.perceives_with_model and kind != "events"
    return settings.merge.enabled == "on"


def summariser(settings: Settings, models: Models) -> Summarise:
    """The merge role's model, or without one a rule: each sentence once."""
    if settings.model_of("merge") in ("embedded", "null"):
        return _each_once
    from amr.models.asking import role_model
    from amr.perceive.describe import summarise_merged

    model = role_model(models, "merge")

    def summarise(parts: Sequence[Part]) -> tuple[str, Counter[str]]:
        text, _, salvages = summarise_merged(model, parts)
        return text, salvages

    return summarise


def _each_once(parts: Sequence[Part]) -> tuple[str, Counter[str]]:
    return " ".join(dict.fromkeys(part.summary for part in parts)), Counter()


def partner_of(new: Recent, latest: Sequence[Recent], settings: MergeSettings) -> Recent | None:
    """The event that a new one continues: the most similar; of equals the earliest."""
    best, most = None, settings.similarity
    for one in latest:
        cosine = round(float(np.dot(one.vector, new.vector)), 4)
        if cosine > most and _may_be_one(one.node, new.node, settings):
            best, most = one, cosine
    return best


def _may_be_one(old: Node, new: Node, settings: MergeSettings) -> bool:
    start, end = old.t_start_ms or 0, max(old.t_end_ms or 0, new.t_end_ms or 0)
    near = (new.t_start_ms or 0) - (old.t_end_ms or 0) <= round(settings.time_gap * 1000)
    scene = old.payload["scene_type"]
    together = set(old.payload["persons"]) & set(new.payload["persons"])
    related = bool(together) or (scene != "" and scene == new.payload["scene_type"])
    small = end - start <= LONGEST_MS and len(_parents(old)) + len(_parents(new)) <= MOST_PARENTS
    return near and related and small


def in_order(recent: list[Recent]) -> list[Recent]:
    """Events in order of time."""
    return sorted(recent, key=lambda one: (one.node.t_start_ms or 0, one.node.clip_first or 0, one.node.node_id))


def _parents(node: Node) -> list[str]:
    """The hashes of the events as perceived that a node stands for."""
    return [*node.payload.get("parents", [node.hash])]


def _part(node: Node) -> Part:
    return Part(node.text, node.payload["dialogue"], node.payload["actions"])


def _union(a: Node, b: Node) -> dict[str, Any]:
    """The payload of both: lists joined without doubles, of single values the first."""
    first, second = a.payload, b.payload
    union: dict[str, Any] = {**second, **first}
    for name in ("persons", "objects", "dialogue", "actions"):
        union[name] = [*first[name], *(item for item in second[name] if item not in first[name])]
    if "states" in union:
        union["states"] = [*first.get("states", []), *second.get("states", [])]
    for name in ("places", "names"):
        if name in union:
            union[name] = {**first.get(name, {}), **second.get(name, {})}
    union["scene_type"] = first["scene_type"] or second["scene_type"]
    union["modality"] = first["modality"] if first["modality"] == second["modality"] else "seen"
    union["certain"] = first["certain"] and second["certain"]
    union["parents"] = _parents(a) + _parents(b)
    return union
