"""Fits the weights and the abstention threshold of configs/retrieve.toml on development questions.

    python scripts/calibrate.py --memory DIR [--memory DIR ...] [--write]

The questions are of the part `development` of `make_questions.py`: other words, templates and days than those
that `measure_abstention.py` reports on. Each question counts with its most relevant candidate; the weights are
those of a logistic regression kept at or above zero, so that more coverage never makes a thing less believed.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np
from make_questions import known_of, make
from numpy.typing import NDArray

from amr.config import load_settings
from amr.resources import resource
from amr.retrieve.calibration import calibration
from amr.retrieve.query import Search
from amr.retrieve.relevance import FEATURES
from amr.store import database
from amr.store.rows import View

_CANDIDATES = 80
_ROUNDS = 12
_STEPS = 4000
_PENALTY = 0.002
FALSE_FOUND = 0.01
"""What share of the development questions about nothing may be answered at the threshold."""
LOST = 0.005
"""What share of the answers that are there may be given up for a safer threshold."""

Matrix = NDArray[np.float64]


def features_of(directory: Path, questions: list[str]) -> list[Matrix]:
    """Of each question the features [candidates, features] of its candidates; one row of zeros without any."""
    settings = load_settings()
    found = []
    for question in questions:
        with database.reading(directory, "default") as snapshot:
            candidates = Search(snapshot, question, View(), settings).candidates()[:_CANDIDATES]
        rows = [[candidate.features[name] for name in FEATURES] for candidate in candidates]
        found.append(np.array(rows or [[0.0] * len(FEATURES)]))
    return found


def fit(bags: list[Matrix], answerable: NDArray[np.bool_]) -> tuple[Matrix, float]:
    """The weights [features] and the bias of the regression over each question's best candidate."""
    weights = np.array([calibration().weights[name] for name in FEATURES])
    bias = calibration().weights["bias"]
    for _ in range(_ROUNDS):
        best = np.array([bag[np.argmax(bag @ weights)] for bag in bags])
        weights, bias = _logistic(best, answerable, weights, bias)
    return weights, bias


def _logistic(rows: Matrix, answerable: NDArray[np.bool_], weights: Matrix, bias: float) -> tuple[Matrix, float]:
    share = np.where(answerable, 0.5 / answerable.sum(), 0.5 / (~answerable).sum())
    for _ in range(_STEPS):
        error = (1 / (1 + np.exp(-(rows @ weights + bias))) - answerable) * share
        weights = np.maximum(0.0, weights - 1.0 * (rows.T @ error + _PENALTY * weights))
        bias -= 1.0 * float(error.sum())
    return weights, bias


def threshold_for(scores: Matrix, answerable: NDArray[np.bool_]) -> float:
    """The middle, to two places, of the thresholds that are good on both sides.

    From the lowest at which no more than FALSE_FOUND of the absent things are found, to the highest that loses
    no more than LOST of the answers found there.
    """
    steps = np.arange(0.05, 0.99, 0.01)
    lowest = next(step for step in steps if np.mean(scores[~answerable] >= step) <= FALSE_FOUND)
    found = np.mean(scores[answerable] >= lowest)
    highest = max(step for step in steps if np.mean(scores[answerable] >= step) >= found - LOST)
    return round(float((lowest + highest) / 2), 2)


def write(weights: Matrix, bias: float, threshold: float) -> None:
    """Puts the constants into configs/retrieve.toml."""
    file = resource("configs/retrieve.toml")
    text = file.read_text(encoding="utf-8")
    values = dict(zip(FEATURES, weights.tolist(), strict=True)) | {"bias": bias, "threshold": threshold}
    for name, value in values.items():
        text = re.sub(rf"(?m)^{name} = -?[\d.]+", f"{name} = {value:.2f}", text)
    file.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memory", type=Path, action="append", required=True)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--absent", type=int, default=300)
    parser.add_argument("--answerable", type=int, default=300)
    parser.add_argument("--write", action="store_true", help="put the constants into configs/retrieve.toml")
    chosen = parser.parse_args()
    bags: list[Matrix] = []
    answerable: list[bool] = []
    names: list[str] = []
    for directory in chosen.memory:
        made = make(known_of(directory), "development", chosen.seed, chosen.absent, chosen.answerable)
        bags += features_of(directory, [one.question for one in made])
        answerable += [one.answerable for one in made]
        names += [f"{one.kind}: {one.question}" for one in made]
    labels = np.array(answerable)
    weights, bias = fit(bags, labels)
    scores = np.array([float(1 / (1 + np.exp(-(np.max(bag @ weights) + bias)))) for bag in bags])
    threshold = threshold_for(scores, labels)
    for name, weight in zip(FEATURES, weights, strict=True):
        print(f"{name:14} {weight:6.2f}")
    print(f"bias {bias:.2f}  threshold {threshold:.2f}")
    for step in (0.5, 0.6, 0.7, 0.8, 0.9):
        kept, lost = np.mean(scores[labels] >= step), np.mean(scores[~labels] >= step)
        print(f"  at {step:.1f}: found {kept:.3f}  false found {lost:.3f}")
    print(f"found {np.mean(scores[labels] >= threshold):.3f}  false found {np.mean(scores[~labels] >= threshold):.3f}")
    for index in np.flatnonzero((scores >= threshold) != labels):
        print(f"  {'missed' if labels[index] else 'false '} {scores[index]:.2f} {names[index]}")
    if chosen.write:
        write(weights, bias, threshold)


if __name__ == "__main__":
    main()
