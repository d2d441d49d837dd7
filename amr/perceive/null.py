"""The perceiver that perceives nothing, for measuring media and write alone."""

from __future__ import annotations

from amr.records import Clip, ClipAnalysis, EventReport


def perceive_nothing(clip: Clip) -> ClipAnalysis:
    """One event over the whole clip that says where in the source it lies; a given analysis is returned as is."""
    if clip.analysis is not None:
        return clip.analysis
    summary = f"Video from {clock(clip.start_ms)} to {clock(clip.end_ms)}."
    event = EventReport(
        local_event_id="e1", time_start=0.0, time_end=(clip.end_ms - clip.start_ms) / 1000, summary=summary
    )
    return ClipAnalysis(clip_summary=summary, events=[event])


def clock(milliseconds: int) -> str:
    """HH:MM:SS of a time from the source's start, rounded down to whole seconds."""
    seconds = abs(milliseconds) // 1000
    sign = "-" if milliseconds < 0 else ""
    return f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
