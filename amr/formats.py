"""The formats that amr reads, as JSON Schema."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from amr.records import ChatRow, ClipAnalysis, ClipCaptionsRow, ClipsRow, EventsRow

FORMATS: dict[str, type[BaseModel]] = {
    "analysis": ClipAnalysis,
    "chat": ChatRow,
    "clip_captions": ClipCaptionsRow,
    "clips": ClipsRow,
    "events": EventsRow,
}


def json_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of one line (chat, clip_captions, events), one row (clips.csv) or one object (analysis)."""
    return FORMATS[name].model_json_schema()
