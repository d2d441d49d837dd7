"""Measure the rule-based reader of captions against the labels in tests/language/labels_egolife.json.

    python scripts/measure_language.py DATA/egolife/A1_JAKE_sync_clips.jsonl.gz [--show dev]

Prints precision and recall per split for the verb, for verb and object, and for verb, object and place, each
with the actor, and how many sentences are read in a second.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from amr.language.names import normalise_object
from amr.language.reading import read_sentence

LABELS = Path(__file__).parents[1] / "tests" / "language" / "labels_egolife.json"
LEVELS = ("verb", "actor, verb", "actor, verb, object", "actor, verb, object, place")

Tuple = tuple[str, str, str, str]


def load(captions: Path) -> list[tuple[dict[str, Any], str]]:
    """Every label with its caption. Raises ValueError if a caption is not the one that was labelled."""
    labels = json.loads(LABELS.read_text(encoding="utf-8"))["labels"]
    wanted = {label["video_file"] for label in labels}
    clips: dict[str, list[dict[str, Any]]] = {}
    with gzip.open(captions, "rt", encoding="utf-8") as lines:
        for line in lines:
            clip = json.loads(line)
            if clip["video_file"] in wanted:
                clips[clip["video_file"]] = clip["data"]
    found = []
    for label in labels:
        text = clips[label["video_file"]][label["index"]]["text"]
        if hashlib.sha256(text.encode()).hexdigest()[:16] != label["sha256"]:
            raise ValueError(f"the caption of {label['video_file']} #{label['index']} is not the labelled one")
        found.append((label, text))
    return found


def as_tuple(actor: str, verb: str, thing: str, place: str) -> Tuple:
    """An action in the form that is compared: lowercase, objects in their look-up form."""
    return actor.lower(), verb, normalise_object(thing), place.lower().strip(" .,")


def levels(action: Tuple) -> tuple[Tuple | tuple[str, ...], ...]:
    """What of an action is compared at each of LEVELS."""
    actor, verb, thing, _ = action
    return (verb,), (actor, verb), (actor, verb, thing), action


def read(text: str) -> list[Tuple]:
    """The actions that the rules find in a caption."""
    actions = read_sentence(text).actions
    return [as_tuple(found.actor, found.verb, found.object, found.spatial_relation) for found in actions]


def measure(pairs: list[tuple[list[Tuple], list[Tuple]]]) -> dict[str, tuple[float, float]]:
    """Precision and recall over (labelled, found) actions of captions, for each of LEVELS."""
    scores = {}
    for number, level in enumerate(LEVELS):
        right = labelled = found = 0
        for gold, given in pairs:
            wanted, got = (Counter(levels(action)[number] for action in actions) for actions in (gold, given))
            right += sum((wanted & got).values())
            labelled += sum(wanted.values())
            found += sum(got.values())
        scores[level] = (right / max(1, found), right / max(1, labelled))
    return scores


def pairs_of(captions: Path, split: str) -> list[tuple[str, list[Tuple], list[Tuple]]]:
    """Text, labelled actions and found actions of each caption of a split."""
    chosen = [(label, text) for label, text in load(captions) if label["split"] == split]
    return [(text, [as_tuple(*action) for action in label["actions"]], read(text)) for label, text in chosen]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captions", type=Path)
    parser.add_argument("--show", choices=("dev", "held_out"), help="print the captions of a split that differ")
    args = parser.parse_args()
    print(f"{'split':<10}{'captions':>9}  {'level':<30}{'precision':>10}{'recall':>8}")
    for split in ("dev", "held_out"):
        rows = pairs_of(args.captions, split)
        for level, (precision, recall) in measure([(gold, given) for _, gold, given in rows]).items():
            print(f"{split:<10}{len(rows):>9}  {level:<30}{precision:>10.3f}{recall:>8.3f}")
        if args.show == split:
            for text, gold, given in rows:
                if Counter(gold) != Counter(given):
                    print(f"  {text}\n    labelled {gold}\n    found    {given}")
    with gzip.open(args.captions, "rt", encoding="utf-8") as lines:
        texts = [item["text"] for line, _ in zip(lines, range(300), strict=False) for item in json.loads(line)["data"]]
    start = time.perf_counter()
    for text in texts:
        read_sentence(text)
    print(f"{len(texts) / (time.perf_counter() - start):.0f} sentences/s over {len(texts)}")


if __name__ == "__main__":
    main()
