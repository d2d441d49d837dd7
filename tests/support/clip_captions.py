"""Clip-by-clip caption files as EgoLife publishes them, written by the tests themselves."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def caption(start: int, end: int, text: str) -> dict[str, Any]:
    """What the wearer tells between two times HHMMSS."""
    return {"start": start, "end": end, "text": text, "type": "caption"}


def transcript(start: int, end: int, text: str) -> dict[str, Any]:
    """What is said between two times HHMMSS."""
    return {"start": start, "end": end, "text": text, "type": "transcript"}


def write_clips(path: Path, clips: Sequence[tuple[str, Sequence[dict[str, Any]]]]) -> Path:
    """Writes clips as (file name, lines), packed if the name ends in `.gz`."""
    rows = [json.dumps({"video_file": name, "data": list(lines)}, ensure_ascii=False) + "\n" for name, lines in clips]
    data = "".join(rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path
