"""What a perceiver hands to the writer for one clip: the analysis, and what a model said besides."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amr.records import ClipAnalysis


@dataclass
class Perceived:
    """One clip as perceived. All but `analysis` is empty where no model was asked.

    `raw` is the model's reply as it came, `prompt_hash` that of the prompt it answered, `model` its name.
    `cost_usd` is what this clip's calls cost now (a cached reply costs nothing). `salvages` counts what had to be
    mended in replies; `problems` says in words what did not fit: people nobody described, times outside the clip.
    `handles` goes from the descriptor of each person to a short stable name, `names` to the proper name that the
    descriptor holds if any (an alias of the handle, by the model's word), `summaries` from `local_event_id` to
    the sentence to remember the event by; an event without one keeps its own.
    """

    analysis: ClipAnalysis
    raw: str | None = None
    prompt_hash: str | None = None
    model: str = ""
    cost_usd: float = 0.0
    salvages: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    handles: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    summaries: dict[str, str] = field(default_factory=dict)
