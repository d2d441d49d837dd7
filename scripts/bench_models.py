"""Measures perception over the wire: clips through the test model server, which answers each call after 2 s."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bench_tools import ROOT, Row, amr, done

sys.path.insert(0, str(ROOT))

JOBS, SECONDS = 16, 2.0


def model_rows() -> list[Row]:
    """The clock must show little more than the calls, spread over the clips in flight; a merge may add one call."""
    return [_row(200, "off"), _row(60, "on")]


def _row(clips: int, merge: str) -> Row:
    from amr.memory import Memory
    from tests.support.coded_video import make_coded_video, random_film
    from tests.support.model_server import ModelServer
    from tests.support.models import KEY, config_file

    film = random_film(1, clips)
    with tempfile.TemporaryDirectory(prefix="amr-bench-") as name:
        folder = Path(name)
        video = make_coded_video(film, folder / "film.mp4")
        with ModelServer([film], mode="local", key=KEY, latency=SECONDS) as server:
            config = config_file(folder, server.base_url, jobs=JOBS, merge=merge)
            memory = folder / "memory"
            cost = done(amr("ingest", video, "--config", config, "--memory", memory, "--quiet", AMR_API_KEY=KEY))
            calls = len(server.log.model_calls())
        merges = sum(row.calls for row in Memory(memory).status().costs if row.role == "merge")
    least = calls / JOBS * SECONDS
    note = f"{cost.wall:.0f} s for {calls} calls, {calls / clips:.1f} a clip; spread evenly they take {least:.0f} s"
    name = f"{clips} clips, {SECONDS:g} s a call, --jobs {JOBS}" + (f", {merges} merges" if merges else "")
    return Row(name, (cost.wall - 8 - SECONDS * merges) / least, "x", 1.15, True, note)
