"""Measures the embedded embedder: how well it finds LoCoMo's evidence turns, how fast it is, how it starts.

    python scripts/measure_embedder.py path/to/locomo.json.gz [--against MODEL_DIR]

Prints JSON. `recall@10` is the mean over questions of the share of evidence turns among the ten turns of the
conversation nearest to the question by cosine; questions without evidence in the conversation are left out.
`--against` measures a sentence-transformers model in a folder as well (needs that library).
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
TOP = 10

START_UP = """
import time
began = time.perf_counter()
from amr.models.embedding import embed
imported = time.perf_counter()
embed(["where is my phone?"])
print(1000 * (imported - began), 1000 * (time.perf_counter() - imported))
"""


def turns_of(conversation: dict[str, Any]) -> dict[str, str]:
    """The text of every turn by its id: speaker, words, and the caption of a shared picture."""
    turns = {}
    for name, session in conversation.items():
        if re.fullmatch(r"session_\d+", name):
            for turn in session:
                caption = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
                turns[turn["dia_id"]] = f"{turn['speaker']}: {turn['text']}{caption}"
    return turns


def recall_at_10(samples: list[dict[str, Any]], embed: Embed) -> dict[str, float]:
    """Evidence recall over all questions and by category."""
    shares: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        turns = turns_of(sample["conversation"])
        ids = list(turns)
        rows = embed(list(turns.values()))
        questions = embed([question["question"] for question in sample["qa"]])
        order = np.argsort(-(questions @ rows.T), axis=1, kind="stable")[:, :TOP]
        for question, nearest in zip(sample["qa"], order, strict=True):
            named = re.findall(r"D\d+:\d+", " ".join(question.get("evidence", [])))
            evidence = set(named) & set(ids)
            if evidence:
                found = evidence & {ids[place] for place in nearest}
                share = len(found) / len(evidence)
                shares["all"].append(share)
                shares[CATEGORIES[question["category"]]].append(share)
    return {name: round(float(np.mean(values)), 4) for name, values in sorted(shares.items())}


def texts_per_second(texts: list[str], embed: Embed) -> float:
    """The best of three runs over `texts`."""
    best = 0.0
    for _ in range(3):
        began = time.perf_counter()
        embed(texts)
        best = max(best, len(texts) / (time.perf_counter() - began))
    return round(best)


def start_up() -> dict[str, float]:
    """Milliseconds to import the module and to embed the first text, each the median of five new processes."""
    times = []
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", START_UP], capture_output=True, text=True, check=True)
        times.append([float(part) for part in done.stdout.split()])
    middle = np.median(np.array(times), axis=0)
    return {"import_ms": round(float(middle[0]), 1), "first_text_ms": round(float(middle[1]), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("locomo", type=Path)
    parser.add_argument("--against", type=Path, help="folder of a sentence-transformers model")
    options = parser.parse_args()
    from amr.models.embedding import EMBEDDER_NAME, embed

    samples = json.loads(gzip.decompress(options.locomo.read_bytes()))
    texts = [text for sample in samples for text in turns_of(sample["conversation"]).values()]
    short = [" ".join(text.split()[:8]) for text in texts] * 10
    report: dict[str, Any] = {
        "embedder": EMBEDDER_NAME,
        "recall@10": recall_at_10(samples, embed),
        "turns_per_second": texts_per_second(texts * 5, embed),
        "eight_words_per_second": texts_per_second(short, embed),
        **start_up(),
    }
    if options.against:
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(str(options.against), device="cpu")
        report[f"recall@10 of {options.against.name}"] = recall_at_10(
            samples, lambda batch: model.encode(list(batch), normalize_embeddings=True)
        )
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
