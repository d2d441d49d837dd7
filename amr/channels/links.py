"""What a channel asks for when nodes arrive: edges to write and edges to retire."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from amr.records import Node


@dataclass
class Link:
    """An edge to be written, by its nodes."""

    channel: str
    src: Node
    dst: Node
    payload: dict[str, Any]


@dataclass
class Links:
    """Edges to write, and (edge id, time learnt) of those to retire."""

    edges: list[Link] = field(default_factory=list)
    retired: list[tuple[int, int]] = field(default_factory=list)
