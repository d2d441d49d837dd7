"""Measures amr and prints one table; exit 1 when a figure misses its limit.

`make bench` measures everything; `python scripts/bench.py commit text …` only the parts named. Figures are of
this machine and its load, which is printed; films are made once and kept in the folder for temporary files.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from bench_chats import chat_rows
from bench_commands import command_rows
from bench_ingest import week_rows
from bench_media import memory_rows, perceiving_rows, speed_rows
from bench_models import model_rows
from bench_query import query_rows
from bench_store import commit_rows, gate_rows, text_rows
from bench_tools import Row

PARTS: dict[str, Callable[[], list[Row]]] = {
    "commands": command_rows,
    "commit": commit_rows,
    "gate": gate_rows,
    "text": text_rows,
    "week": week_rows,
    "query": query_rows,
    "chats": chat_rows,
    "speed": speed_rows,
    "perceiving": perceiving_rows,
    "memory": memory_rows,
    "models": model_rows,
}


def main() -> None:
    names = sys.argv[1:] or list(PARTS)
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise SystemExit(f"There is no part {unknown[0]}; there are: {', '.join(PARTS)}.")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{'what':58} {'measured':>16} {'limit':>10}")
    missed = False
    for name in names:
        for row in PARTS[name]():
            print(_line(row), flush=True)
            missed |= not row.holds()
    print(f"load {os.getloadavg()[0]:.1f}")
    sys.exit(1 if missed else 0)


def _line(row: Row) -> str:
    limit = "" if row.limit is None else f"{'<=' if row.most else '>='} {row.limit:g}"
    mark = "" if row.holds() else "MISSED  "
    digits = 0 if row.value >= 100 else 1 if row.value >= 10 else 2
    return f"{row.name:58} {f'{row.value:.{digits}f} {row.unit}':>16} {limit:>10}  {mark}{row.note}"


if __name__ == "__main__":
    main()
