r"""Measures abstention: how often a thing that never occurs is "found", and an answer that is there is found.

    python scripts/measure_abstention.py --memory DIR [--memory DIR ...] [--seed 7] [--wrong]

DIR may be any memory with captions; one of a day of EgoLife is made by

    python -c "from pathlib import Path; from tests.support.egolife import day_to_srt; \
        day_to_srt(Path('A1_JAKE_sync_clips.jsonl.gz'), 1, Path('day1.srt'))" && amr ingest day1.srt --memory DIR

The questions are of the part `check` of `make_questions.py`, or lines of its form with --questions. Intervals
are 95 % (Wilson). `cites the line` is the share of answered questions whose evidence holds the event that the
question was made from.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from pathlib import Path

from make_questions import PARTS, Made, known_of, make

from amr.config import load_settings
from amr.memory import Memory


def wilson(hits: int, n: int) -> str:
    """A share with its 95 % interval, in percent."""
    if not n:
        return "no questions"
    z, share = 1.96, hits / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return f"{100 * share:5.1f} %  [{100 * (middle - half):.1f}, {100 * (middle + half):.1f}]  ({hits} of {n})"


def measure(directory: Path, questions: list[Made], show_wrong: bool) -> None:
    """Asks all questions and prints the two figures, in all and by kind."""
    memory, settings = Memory(directory), load_settings()
    found: dict[tuple[bool, str], list[bool]] = defaultdict(list)
    cited: list[bool] = []
    for made in questions:
        answer = memory.ask(made.question, settings)
        for kind in (made.kind, "all"):
            found[made.answerable, kind].append(answer.found)
        if answer.found and made.node is not None:
            cited.append(any(evidence.node.node_id == made.node for evidence in answer.evidence))
        if show_wrong and answer.found != made.answerable:
            print(f"  {answer.confidence:.2f} {made.kind}: {made.question} -> {answer.answer}")
    print(f"{directory}: false found {wilson(sum(found[False, 'all']), len(found[False, 'all']))}")
    print(f"{directory}: found       {wilson(sum(found[True, 'all']), len(found[True, 'all']))}")
    print(f"{directory}: cites the line in 10 {wilson(sum(cited), len(cited))}")
    for (answerable, kind), hits in sorted(found.items()):
        if kind != "all":
            print(f"    {'answerable' if answerable else 'absent':10} {kind:14} found {sum(hits)} of {len(hits)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memory", type=Path, action="append", required=True)
    parser.add_argument("--questions", type=Path, help="JSONL of questions instead of made ones")
    parser.add_argument("--part", choices=PARTS, default="check")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--absent", type=int, default=200)
    parser.add_argument("--answerable", type=int, default=150)
    parser.add_argument("--wrong", action="store_true", help="print the questions that went wrong")
    chosen = parser.parse_args()
    for directory in chosen.memory:
        if chosen.questions:
            lines = chosen.questions.read_text(encoding="utf-8").splitlines()
            questions = [Made(**json.loads(line)) for line in lines]
        else:
            questions = make(known_of(directory), chosen.part, chosen.seed, chosen.absent, chosen.answerable)
        measure(directory, questions, chosen.wrong)


if __name__ == "__main__":
    main()
