"""The week of EgoLife as lines: what the baselines search and what generated questions are checked against."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from amr.errors import BadInput
from amr.evals.baselines import Unit
from amr.evals.files import check_keys, read_lines
from amr.media.egolife import clock_ms, read_clip_name

_LATE_MS = 12 * 3600 * 1000
_DAY_MS = 24 * 3600 * 1000


def read_week(path: Path) -> list[Unit]:
    """Every caption and transcript line of a file of clips, in time order. Raises BadInput."""
    units = []
    for place, clip in read_lines(path, {"video_file": str, "data": list}):
        name = read_clip_name(clip["video_file"].removesuffix(".mp4"))
        if name is None:
            raise BadInput(f"{place}: {clip['video_file']!r} is no name of an EgoLife clip; correct it.")
        for entry in clip["data"]:
            check_keys(entry, {"start": int, "end": int, "text": str}, place)
            units.append(_unit(entry, name.day_wall_ms, name.clock_ms, clip["video_file"], place))
    return sorted(units, key=lambda unit: (unit.start_ms, unit.end_ms))


def _unit(entry: dict[str, Any], day_ms: int, clip_ms: int, file: str, place: str) -> Unit:
    start, end = clock_ms(entry["start"]), clock_ms(entry["end"])
    if start is None or end is None:
        raise BadInput(f"{place}: a line from {entry['start']} to {entry['end']} has no time of day; correct it.")
    # A clip that ends after midnight goes on into the next day.
    start += _DAY_MS if clip_ms - start > _LATE_MS else 0
    return Unit(entry["text"].strip(), day_ms + start, day_ms + max(start, end), "week", file, dated=True)
