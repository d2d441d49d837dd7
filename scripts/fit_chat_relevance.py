"""Fits configs/chat_relevance.toml: whether the turn that is ranked first bears on the question at all.

    python scripts/fit_chat_relevance.py --locomo locomo8_dev.json.gz --beam DIR [--write]

Each question is put to the chat that it is about, and to another one with the names of those who speak there: the
first is to be found, the second is not. What is printed is measured on the conversation that was left out: how many
questions are found when so many of the others are wrongly. The shift of all logits puts the memory's one abstention
threshold where FALSE_FOUND of the others would be found.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from fit_scales import Asked, beam, locomo

from amr.config import load_settings
from amr.media.chats import Session
from amr.memory import Filters, Memory
from amr.resources import resource
from amr.retrieve.calibration import calibration
from amr.retrieve.chat_ranking import chat_of, put_to, rank, told_of, weights
from amr.retrieve.chat_relevance import FEATURES
from amr.retrieve.scales import Values
from amr.store.rows import View
from amr.store.snapshot import Snapshot

FALSE_FOUND = 0.08
PENALTY = 1.0
_STEPS = 30
_UNANSWERABLE = ("adversarial", "abstention")


@dataclass(frozen=True)
class Example:
    """A question with the features [f] of the turn ranked first, and whether its chat is the one it is about."""

    benchmark: str
    fold: str
    category: str
    right: bool
    features: Values


def examples(asked: Asked, memory: Memory) -> list[Example]:
    """Every question put to its own chat, and to another one."""
    for file in asked.files:
        memory.ingest(file, load_settings())
    speakers = {name: _speakers(stack.sessions) for name, stack in asked.haystacks.items()}
    chance = random.Random(5)
    put: dict[str, list[tuple[str, str, str, bool]]] = {name: [] for name in speakers}
    for _, one in asked.questions:
        put[one.scope].append((one.scope, one.category, one.question, True))
        other = chance.choice([name for name in speakers if name != one.scope])
        renamed = _renamed(one.question, speakers[one.scope], speakers[other])
        put[other].append((one.scope, one.category, renamed, False))
    found: list[Example] = []
    for scope, questions in put.items():
        filters = Filters(scope=scope, kinds=("turn",))
        found += memory._read(filters, partial(_read, asked.name, questions))
        print(f"{asked.name}: {len(found)} of {2 * len(asked.questions)}", file=sys.stderr)
    return found


def _speakers(sessions: Sequence[Session]) -> list[str]:
    return list(dict.fromkeys(turn.speaker for session in sessions for turn in session.turns))


def _renamed(question: str, mine: Sequence[str], others: Sequence[str]) -> str:
    """The question with the names of those who speak in another chat; also short forms, "Mel" for Melanie."""
    for name, other in zip(mine, others, strict=False):
        question = re.sub(rf"\b{name[:3]}\w*\b", other, question)
    return question


def _read(
    benchmark: str, questions: Sequence[tuple[str, str, str, bool]], snapshot: Snapshot, view: View
) -> list[Example]:
    chat = chat_of(snapshot, view)
    found_examples = []
    for fold, category, question, right in questions:
        put = put_to(chat.talk, question, snapshot.wearer(view.scope), None, None)
        found = told_of(snapshot, view, chat, put)
        first = int(rank(chat, put, found, weights(chat.talk)).places[0])
        features = np.array([found.turns[name][first] for name in FEATURES])
        found_examples.append(Example(benchmark, fold, category, right, features))
    return found_examples


def fit(known: Sequence[Example]) -> Values:
    """Logistic regression with an L2 penalty, by Newton: the weights [f] and the bias."""
    rows = np.array([np.append(one.features, 1.0) for one in known])
    right = np.array([one.right for one in known], np.float64)
    penalty = PENALTY * np.eye(rows.shape[1])
    penalty[-1, -1] = 0.0
    found = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        shares = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (shares - right) + penalty @ found
        found -= np.linalg.solve((rows * (shares * (1 - shares))[:, None]).T @ rows + penalty, slope)
    return np.asarray(found)


def logits(known: Sequence[Example], by: Values) -> Values:
    """The logit of each example [n]."""
    return np.asarray(np.array([np.append(one.features, 1.0) for one in known]) @ by)


def limit_for(false_found: float, known: Sequence[Example], scores: Values) -> float:
    """The logit above which such a share of the questions put to the wrong chat is found."""
    wrong = np.sort(scores[[not one.right for one in known]])[::-1]
    return float(wrong[int(false_found * len(wrong))])


def report(known: Sequence[Example], scores: Values) -> None:
    """Prints how many questions are found at several shares of wrongly found ones."""
    print(f"{'questions':34} {'n':>5}  " + "  ".join(f"{share:.0%} wrong" for share in (0.02, 0.05, 0.08, 0.1)))
    limits = [limit_for(share, known, scores) for share in (0.02, 0.05, 0.08, 0.1)]
    groups = sorted({(one.benchmark, one.category) for one in known if one.right})
    for benchmark, category in groups:
        mine = scores[[one.right and (one.benchmark, one.category) == (benchmark, category) for one in known]]
        print(
            f"{benchmark + ' ' + category:34} {len(mine):5}  " + "  ".join(f"{(mine > x).mean():8.3f}" for x in limits)
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--locomo", type=Path, required=True)
    parser.add_argument("--beam", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help="write configs/chat_relevance.toml")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        known = [
            one
            for asked in (locomo(given.locomo), beam(given.beam))
            for one in examples(asked, Memory(Path(folder) / asked.name))
        ]
    learnt_from = [one for one in known if one.category not in _UNANSWERABLE]
    scores = np.zeros(len(known))
    for fold in sorted({one.fold for one in known}):
        by = fit([one for one in learnt_from if one.fold != fold])
        mine = [at for at, one in enumerate(known) if one.fold == fold]
        scores[mine] = logits([known[at] for at in mine], by)
    report(known, scores)
    by = fit(learnt_from)
    threshold = calibration().threshold
    by[-1] += np.log(threshold / (1 - threshold)) - limit_for(FALSE_FOUND, known, scores)
    if given.write:
        resource("configs/chat_relevance.toml").write_text(written(by), encoding="utf-8")


def written(by: Values) -> str:
    """The constants as TOML."""
    lines = [
        "# How far a turn of a chat bears on a question (amr/retrieve/chat_relevance.py): logit of relevance = bias +",
        "# sum of weight x feature. Fitted by scripts/fit_chat_relevance.py.",
        f"bias = {by[-1]:.3f}",
        "",
        "[weights]",
        *(f'"{name}" = {weight:.3f}' for name, weight in zip(FEATURES, by[:-1], strict=True)),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
