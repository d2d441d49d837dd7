"""Prints the README's table of retrieval from conversations: every system with every embedder, without any model.

    python scripts/retrieval_table.py --locomo locomo10.json --longmemeval FOLDER [--embedder hf:FOLDER ...]

Runs `amr eval locomo` and `amr eval longmemeval --pooled` once for each embedder: the one in the package, and those
given; without `--embedder` also MiniLM, which is left out where the extra `local` or its weights are missing. The row
of BM25 is the same for all embedders. Takes about five minutes, a MiniLM on a processor half an hour more.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGED = "embedded"
MINILM = "hf:sentence-transformers/all-MiniLM-L6-v2"

COLUMNS = {
    "locomo": (
        ("turn_recall@10.fraction", "turn fraction @10"),
        ("turn_recall@10.all.multi-hop", "multi-hop, all @10"),
        ("session_recall@5.fraction", "session fraction @5"),
        ("session_recall@10.fraction", "session fraction @10"),
    ),
    "longmemeval": (
        ("session_recall@5.any", "pooled, any @5"),
        ("session_recall@5.all", "pooled, all @5"),
    ),
}


class LeftOut(Exception):
    """An embedder cannot be measured here; says why."""


Figures = dict[str, dict[str, float]]
"""Metrics by system."""


def measured(benchmark: str, data: Path, embedder: str, *options: str) -> Figures:
    """The figures of one evaluation with an embedder."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "amr.cli", "eval", benchmark, "--data", str(data), "--retrieval-only"]
        environment = {**os.environ, "AMR_EMBEDDER": embedder}
        whole = [*command, *options, "--out", folder, "--json"]
        done = subprocess.run(whole, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LeftOut(f"{embedder} is left out: {done.stderr.strip().splitlines()[-1]}")
    systems: Figures = json.loads(done.stdout)["systems"]
    return systems


def rows_of(locomo: Path, longmemeval: Path, embedder: str) -> dict[str, list[float]]:
    """A row of figures for each system with an embedder."""
    found = {"locomo": measured("locomo", locomo, embedder)}
    found["longmemeval"] = measured("longmemeval", longmemeval, embedder, "--pooled")
    wanted = [(benchmark, metric) for benchmark, metrics in COLUMNS.items() for metric, _ in metrics]
    return {
        system: [found[benchmark][system][metric] for benchmark, metric in wanted]
        for system in ("bm25", "dense", "amr")
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--locomo", type=Path, required=True)
    parser.add_argument("--longmemeval", type=Path, required=True)
    parser.add_argument("--embedder", action="append", default=[])
    given = parser.parse_args()
    heads = ["system", "embedder", *(head for metrics in COLUMNS.values() for _, head in metrics)]
    table: list[list[str]] = []
    for embedder in [PACKAGED, *(given.embedder or [MINILM])]:
        try:
            rows = rows_of(given.locomo, given.longmemeval, embedder)
        except LeftOut as reason:
            print(reason, file=sys.stderr)
            continue
        for system, figures in rows.items():
            if system != "bm25" or embedder == PACKAGED:
                name = "–" if system == "bm25" else Path(embedder.removeprefix("hf:")).name
                table.append([system, name, *(f"{figure:.3f}" for figure in figures)])
    for row in [heads, ["---"] * len(heads), *table]:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
