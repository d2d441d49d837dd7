"""Measures questions put to 100,000 events by one process: EPIC-KITCHENS narrations repeated with shifted times."""

from __future__ import annotations

import csv
import gzip
import random
import resource
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench_ingest import DATA, ingest_row
from bench_tools import Row

from amr.config import load_settings
from amr.memory import Memory
from amr.retrieve import query
from amr.store import gate

ROWS = 103_000
"""A few rows tell of nothing that happens, so these make somewhat more than 100,000 events."""
_NARRATIONS = DATA / "epic100" / "EPIC_100_validation_dev.csv.gz"
_PAUSE_S = 30.0
_THINGS = (
    *("plate", "knife", "fridge", "pan", "sponge", "lid", "drawer", "tap", "onion", "bowl", "spoon", "bottle", "glass"),
    *("cup", "cupboard", "fork", "chopping board", "bag", "garlic", "cloth", "bin", "pot", "salt", "kettle", "oil"),
    *("cheese", "milk", "tomato", "carrot", "towel", "butter", "rice"),
)
_QUESTIONS = (
    "where did I put the {}",
    "when did I wash the {}",
    "what did I do after taking the {}",
    "how many times did I open the {}",
    "where is the {} that I cleaned",
    "did I leave the {} in the sink",
)
_STAGES: tuple[tuple[str, Any, str], ...] = (
    ("reading the question", query.Search, "__init__"),
    ("anchors", query, "find_anchors"),
    ("walk", query, "navigate"),
    ("judging", query.Search, "judged"),
    ("order", query, "in_order"),
    ("groups", query, "verify"),
    ("evidence", query, "as_evidence"),
)


def query_rows() -> list[Row]:
    """Ingestion of the narrations, then questions: the first in a process, and those after it."""
    if not _NARRATIONS.exists():
        return [Row("questions to 100,000 events", 0.0, "ms", note=f"skipped: there is no {_NARRATIONS}")]
    with tempfile.TemporaryDirectory(prefix="amr-bench-") as name:
        folder = Path(name)
        narrations = folder / "narrations.csv"
        write_narrations(narrations, ROWS)
        memory = folder / "memory"
        return [ingest_row("narrations", narrations, memory), *_asked(Memory(memory))]


def _asked(memory: Memory) -> list[Row]:
    settings = load_settings()
    questions = [form.format(thing) for thing in _THINGS for form in _QUESTIONS]
    random.Random(1).shuffle(questions)
    with _passes() as held_ms:
        first = _milliseconds(memory, questions.pop(), settings)
        for _ in range(2):
            memory.query(questions.pop(), settings)
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with _timed() as stages:
        taken = [_milliseconds(memory, question, settings) for question in questions]
    note = f"{len(taken)} different questions; the first in the process {first:.0f} ms; {held:.0f} MiB held at the most"
    ordered = sorted(taken)
    return [
        Row("hot query, 100,000 events, median", statistics.median(taken), "ms", 15, True, note),
        Row("hot query, 100,000 events, p95", ordered[int(0.95 * len(ordered))], "ms", 40, True),
        Row("longest that the first three keep a writer out", max(held_ms), "ms", 300, True),
        *(Row(f"  {name}, median", statistics.median(times), "ms") for name, times in stages.items()),
    ]


def _milliseconds(memory: Memory, question: str, settings: Any) -> float:
    started = time.perf_counter()
    memory.query(question, settings)
    return (time.perf_counter() - started) * 1000


@contextmanager
def _passes() -> Iterator[list[float]]:
    """The milliseconds that each pass through the gate holds the memory."""
    taken: list[float] = []
    original = gate.reading

    @contextmanager
    def reading(directory: Path) -> Iterator[None]:
        with original(directory):
            started = time.perf_counter()
            try:
                yield
            finally:
                taken.append((time.perf_counter() - started) * 1000)

    gate.reading = reading
    try:
        yield taken
    finally:
        gate.reading = original


@contextmanager
def _timed() -> Iterator[dict[str, list[float]]]:
    """The milliseconds that each stage of each question takes."""
    taken: dict[str, list[float]] = defaultdict(list)
    originals = [(owner, name, getattr(owner, name)) for _, owner, name in _STAGES]

    def timed(label: str, whole: Any) -> Any:
        def run(*arguments: Any, **named: Any) -> Any:
            started = time.perf_counter()
            try:
                return whole(*arguments, **named)
            finally:
                taken[label].append((time.perf_counter() - started) * 1000)

        return run

    for label, owner, name in _STAGES:
        setattr(owner, name, timed(label, getattr(owner, name)))
    try:
        yield taken
    finally:
        for owner, name, whole in originals:
            setattr(owner, name, whole)


def write_narrations(path: Path, narrations: int) -> None:
    """The narrations of all videos one after another, again and again, as one video."""
    with gzip.open(_NARRATIONS, "rt", encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: (row["video_id"], _seconds(row["start_timestamp"])))
    columns = list(rows[0])
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, columns)
        out.writeheader()
        video, zero, last = "", 0.0, 0.0
        for number in range(narrations):
            row = rows[number % len(rows)]
            if row["video_id"] != video:
                video, zero = row["video_id"], last + _PAUSE_S
            start, stop = (zero + _seconds(row[f"{end}_timestamp"]) for end in ("start", "stop"))
            last = max(last, stop)
            times = {
                "start_timestamp": _clock(start),
                "stop_timestamp": _clock(stop),
                "narration_timestamp": _clock(start),
            }
            out.writerow({**row, **times, "video_id": "P00_00", "narration_id": f"P00_00_{number}"})


def _seconds(clock: str) -> float:
    hours, minutes, seconds = clock.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def _clock(seconds: float) -> str:
    hundredths = round(seconds * 100)
    return (
        f"{hundredths // 360_000:02d}:{hundredths // 6000 % 60:02d}:{hundredths // 100 % 60:02d}.{hundredths % 100:02d}"
    )
