"""The evidence as models are shown it: events in order of time, within a budget of tokens (AMR-Graph Part II §4.3)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from amr.models.capabilities import text_tokens
from amr.records import Evidence, Node
from amr.retrieve.times import show_time

_LEAST_TEXT = 80
"""Characters; a piece of which less could be shown is left out."""


def event_line(node: Node, source: str, text: str | None = None) -> dict[str, Any]:
    """What a model is shown of an event. Things are added where the text does not name them, such as that of "it"."""
    words = node.text if text is None else text
    said = [line for line in node.payload.get("dialogue", []) if line not in node.text]
    things = [str(state["object"]) for state in node.payload.get("states", []) if state.get("resolved")]
    unnamed = [thing.replace("_", " ") for thing in dict.fromkeys(things)]
    return {
        "id": node.node_id,
        "time": show_time(node),
        "source": source,
        "text": words,
        **({"said": said} if said and text is None else {}),
        **({"about": unnamed} if unnamed else {}),
    }


def line_tokens(line: dict[str, Any]) -> int:
    """About how many tokens a line is: characters / 4."""
    return text_tokens(json.dumps(line, ensure_ascii=False)) + 1


def context_of(evidence: Sequence[Evidence], tokens: int) -> list[tuple[Evidence, dict[str, Any]]]:
    """The evidence that fits, given best first, with its lines; in order of time.

    A piece that is too long for what is left is cut short when it is the best, and left out otherwise.
    """
    kept: list[tuple[Evidence, dict[str, Any]]] = []
    left = tokens
    for piece in evidence:
        line = event_line(piece.node, piece.source)
        if line_tokens(line) > left and not kept:
            bare = line_tokens(event_line(piece.node, piece.source, ""))
            line = event_line(piece.node, piece.source, piece.node.text[: max(_LEAST_TEXT, 4 * (left - bare))] + "…")
        if line_tokens(line) <= left or not kept:
            kept.append((piece, line))
            left -= line_tokens(line)
    return sorted(kept, key=lambda pair: pair[0].node.in_time)
