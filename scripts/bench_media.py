"""Measures reading and perceiving video: speed as multiples of real time, and peak memory."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from bench_tools import CACHE, ROOT, Cost, Row, amr, done, ffmpeg, film

_NULL = {"AMR_PERCEIVER": "null"}


def speed_rows() -> list[Row]:
    """Media and write alone, from a ten-minute film at 720p, 8 frames a clip."""
    path = film("1280x720", 600)
    rows = []
    for frames, floor, repeats in (("uniform", 35, 1), ("keyframes", 250, 3)):
        runs = [done(_ingest(path, AMR_FRAMES=frames, **_NULL)) for _ in range(repeats)]
        rows.append(_row(f"null perceiver, {frames} frames, 10 min 720p30", 600, runs, floor))
    return rows


def perceiving_rows() -> list[Row]:
    """The embedded default from end to end, with each recogniser that is here."""
    sample = _without_captions(ROOT / "data" / "sample.mp4")
    made = film("1280x720", 60)
    rows = []
    for recogniser, floor in (("none", 6.0), ("pocketsphinx", None), ("whisper", None)):
        for name, path, seconds in (("sample.mp4 without captions", sample, 90), ("1 min 720p30", made, 60)):
            cost = _ingest(path, AMR_SPEECH__RECOGNISER=recogniser, AMR_SPEECH__DOWNLOAD="never")
            label = f"embedded, speech {recogniser}, {name}"
            rows.append(
                Row(label, 0, "x", note=cost.errors.strip().splitlines()[-1] if cost.errors else "failed")
                if cost.code
                else _row(label, seconds, [cost], floor)
            )
    return rows


def memory_rows() -> list[Row]:
    """Peak memory must not depend on the length of the film.

    An mp4 keeps a table of all its frames, which the demuxer holds in memory whole; Matroska shows amr alone.
    """
    rows = []
    for container, limit in (("mkv", 1.1), ("mp4", None)):
        short, long = (_peak(film("1280x720", seconds, container)) for seconds in (120, 7200))
        note = f"{short.peak:.0f} MiB for 2 min, {long.peak:.0f} MiB for 2 h ({7200 / long.wall:.0f} x real time)"
        rows.append(Row(f"peak memory, 2 h over 2 min, {container}", long.peak / short.peak, "x", limit, True, note))
    return rows


def _peak(path: Path) -> Cost:
    return done(_ingest(path, AMR_FRAMES="keyframes", **_NULL))


def _ingest(path: Path, **environment: str) -> Cost:
    with tempfile.TemporaryDirectory(prefix="amr-bench-") as folder:
        return amr("ingest", path, "--memory", folder, "--quiet", **environment)


def _row(name: str, seconds: float, runs: list[Cost], floor: float | None) -> Row:
    wall, cpu = (statistics.median(values) for values in ([r.wall for r in runs], [r.cpu for r in runs]))
    note = f"{wall:.1f} s, {cpu:.1f} s of processor time ({seconds / cpu:.0f} x), {max(r.peak for r in runs):.0f} MiB"
    return Row(name, seconds / wall, "x", floor, note=note)


def _without_captions(path: Path) -> Path:
    CACHE.mkdir(exist_ok=True)
    bare = CACHE / "sample-without-captions.mp4"
    ffmpeg("-i", path, "-map", "0:v", "-map", "0:a", "-c", "copy", bare)
    return bare
