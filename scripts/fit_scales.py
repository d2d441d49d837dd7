"""Learns configs/scales_weights.json: what each feature of a turn, and of a session, is worth.

    python scripts/fit_scales.py --locomo locomo8_dev.json.gz --longmemeval DIR --beam DIR [--write]

Chats are ingested into a memory of their own by `Memory.ingest` and their features computed by the code that answers
questions. Two sets of weights are learnt: for people who talk to one another on LoCoMo, and for talk with an assistant
on LongMemEval's pooled sessions and BEAM. What is printed is measured on what was not learnt from: one conversation
left out at a time, and for LongMemEval one fifth of the questions. DIR of LongMemEval as for `amr eval longmemeval
--pooled`, DIR of BEAM as for `amr eval beam`.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))
from listwise import Matrix, Rows, fit

from amr.config import load_settings
from amr.evals.beam_questions import questions_of, read_conversations
from amr.evals.locomo_questions import read_questions
from amr.evals.longmemeval_pooled import read_pool, write_chat
from amr.evals.questions import EvalQuestion
from amr.media.chats import Haystack, read_chats
from amr.media.longmemeval import wall_time
from amr.memory import Filters, Memory
from amr.records import Node
from amr.resources import resource
from amr.retrieve.chat_features import Features
from amr.retrieve.chat_ranking import READ, chat_of, from_turns, put_to, read_of, told_of
from amr.retrieve.scales import Line, Values
from amr.store.rows import View
from amr.store.snapshot import Snapshot

PENALTY = 30.0
FOLDS = 5
_HARD, _CHANCE = 120, 50
"""Of each question's turns, those that are hardest to tell from the right ones, and some at random, are learnt from."""
_SESSIONS = 150
_SMALL = 0.003
"""What moves a score by no more than this, in standard deviations of the feature, is left out."""


@dataclass
class Example:
    """A question with the features of all turns [n, f] and sessions [g, h], and which of them are right."""

    benchmark: str
    category: str
    fold: str
    line: Line
    turns: Matrix
    sessions: Matrix
    right_turns: NDArray[np.bool_]
    right_sessions: NDArray[np.bool_]


@dataclass
class Names:
    """The names of the features of turns and of sessions, in the order of their columns."""

    turns: list[str]
    sessions: list[str]


@dataclass
class Asked:
    """A benchmark: what is ingested under its name, and the questions with the fold that each belongs to."""

    name: str
    files: list[Path]
    haystacks: Mapping[str, Haystack]
    questions: list[tuple[str, EvalQuestion]]


def locomo(file: Path) -> Asked:
    """LoCoMo, with a conversation as a fold."""
    stacks = list(read_chats(file))
    questions = [(one.scope, one) for one in read_questions(file, stacks).questions if not one.left_out]
    return Asked("locomo", [file], {stack.name: stack for stack in stacks}, questions)


def beam(folder: Path) -> Asked:
    """BEAM, with two conversations as a fold."""
    files = sorted(file for file in folder.iterdir() if file.is_file())
    stacks: dict[str, Haystack] = {}
    questions = []
    for number, record in enumerate(one for file in files for one in read_conversations(file)):
        asked, stack, _ = questions_of(record)
        stacks[stack.name] = stack
        questions += [(str(number // 2), one) for one in asked if not one.left_out]
    return Asked("beam", files, stacks, questions)


def pooled(folder: Path, work: Path) -> Asked:
    """The sessions of LongMemEval as one haystack, its questions in fifths."""
    pool = read_pool(folder)
    file = work / "pooled.jsonl"
    write_chat(pool, file)
    order = list(range(len(pool.questions)))
    random.Random(7).shuffle(order)
    questions = [(str(place % FOLDS), pool.questions[at]) for place, at in enumerate(order)]
    return Asked("longmemeval", [file], {pool.haystack.name: pool.haystack}, questions)


def examples(asked: Asked, memory: Memory) -> tuple[list[Example], Names]:
    """The features of a benchmark's questions, by the code that answers them."""
    settings = load_settings()
    for file in asked.files:
        memory.ingest(file, settings)
    found: list[Example] = []
    names = Names([], [])
    for scope in dict.fromkeys(one.scope for _, one in asked.questions):
        mine = [pair for pair in asked.questions if pair[1].scope == scope]

        def read(snapshot: Snapshot, view: View, mine: list[tuple[str, EvalQuestion]] = mine) -> Iterator[Example]:
            for fold, one in mine:
                yield _example(snapshot, view, asked.name, fold, one, names)

        def all_of(snapshot: Snapshot, view: View, read: Callable[..., Iterator[Example]] = read) -> list[Example]:
            return list(read(snapshot, view))

        found += memory._read(Filters(scope=scope, kinds=("turn",)), all_of)
        print(f"{asked.name}: {len(found)} of {len(asked.questions)} questions", file=sys.stderr)
    return [one for one in found if one.right_sessions.any()], names


def _example(snapshot: Snapshot, view: View, benchmark: str, fold: str, one: EvalQuestion, names: Names) -> Example:
    chat = chat_of(snapshot, view)
    date = one.known.get("question_date")
    now = wall_time(date) if date else None
    put = put_to(chat.talk, one.question, snapshot.wearer(view.scope), None, now)
    found = told_of(snapshot, view, chat, put)
    everything = np.arange(chat.talk.size)
    turns = {**found.turns, **read_of(chat, put, found, everything)}
    names.turns, names.sessions = list(turns), list(found.sessions)
    refs = [node.payload.get("ref") for node in _in_order(snapshot, chat.ids)]
    right = np.isin(np.array(refs), one.gold["turn"])
    line = chat.talk.line
    heads = snapshot.sessions_of(chat.ids[line.starts])
    nodes = snapshot.nodes(list(heads.values()))
    session_refs = [nodes[heads[turn]].payload.get("ref") for turn in chat.ids[line.starts].tolist()]
    right_sessions = np.isin(np.array(session_refs), one.gold["session"])
    return Example(benchmark, one.category, fold, line, _matrix(turns), _matrix(found.sessions), right, right_sessions)


def _in_order(snapshot: Snapshot, ids: NDArray[np.int64]) -> Iterator[Node]:
    nodes = snapshot.nodes(ids)
    return (nodes[node_id] for node_id in ids.tolist())


def _matrix(features: Features) -> Matrix:
    return np.stack(list(features.values()), axis=1).astype(np.float32)


@dataclass
class Learnt:
    """Weights of standardised features: of turns, and of sessions, which have what `from_turns` tells first."""

    turns: Values
    sessions: Values
    spread_turns: Values
    spread_sessions: Values


class Learner:
    """Learns from some examples; what is worked out for one fold helps the next."""

    def __init__(self, known: Sequence[Example]) -> None:
        self._known = known
        self._spread_turns = _spread([one.turns for one in known[::4]])
        self._spread_sessions = _spread([one.sessions for one in known[::4]])
        chance = np.random.default_rng(0)
        self._turns = [self._sample(one, chance) for one in known]
        self._last: Learnt | None = None

    def _sample(self, one: Example, chance: np.random.Generator) -> Rows | None:
        """The right turns, the hardest of the others and some more."""
        if not one.right_turns.any():
            return None
        rows = (one.turns - one.turns.mean(axis=0)) / self._spread_turns
        wrong = np.flatnonzero(~one.right_turns)
        wrong = wrong[np.argsort(-rows[wrong].sum(axis=1), kind="stable")]
        rest = wrong[_HARD:]
        some = chance.choice(rest, min(len(rest), _CHANCE), replace=False) if len(rest) else rest
        kept = np.concatenate([np.flatnonzero(one.right_turns), wrong[:_HARD], some])
        return rows[kept].astype(np.float32), one.right_turns[kept]

    def learn(self, fold: tuple[str, str] | None) -> Learnt:
        """From all examples but those of one (benchmark, fold)."""
        used = [at for at, one in enumerate(self._known) if (one.benchmark, one.fold) != fold]
        last = self._last
        turns = self._of_turns(used, None if last is None else last.turns)
        learnt = Learnt(turns, np.zeros(0), self._spread_turns, self._spread_sessions)
        halves = used[::2], used[1::2]
        lists = []
        # What a session is worth is learnt from scores of its turns that were learnt elsewhere, as they will be met.
        for mine, others in (halves, halves[::-1]):
            elsewhere = replace(learnt, turns=self._of_turns(others, turns))
            lists += [self._sessions(self._known[at], elsewhere) for at in mine]
        learnt.sessions = fit(lists, PENALTY, None if last is None else last.sessions)
        self._last = learnt
        return learnt

    def _of_turns(self, used: Sequence[int], start: Values | None) -> Values:
        return fit([rows for at in used if (rows := self._turns[at])], PENALTY, start)

    def _sessions(self, one: Example, learnt: Learnt) -> Rows:
        """The right sessions and the most promising of the others."""
        rows = session_rows(one, turn_scores(one, learnt), learnt)
        kept = np.union1d(np.flatnonzero(one.right_sessions), np.argsort(-rows[:, 0], kind="stable")[:_SESSIONS])
        return rows[kept], one.right_sessions[kept]


def _spread(parts: Sequence[Matrix]) -> Values:
    return np.asarray(np.concatenate(parts).std(axis=0, dtype=np.float64) + 1e-6)


def turn_scores(one: Example, learnt: Learnt) -> Values:
    """What each turn of an example is worth [n]."""
    return np.asarray((one.turns / learnt.spread_turns) @ learnt.turns)


def session_rows(one: Example, scores: Values, learnt: Learnt) -> Matrix:
    """The features of an example's sessions, those that its best turns tell first."""
    best = np.lexsort((np.arange(len(scores)), -np.round(scores, 6)))[:READ]
    told = from_turns(best, scores[best], one.line)
    return np.column_stack([*told.values(), one.sessions / learnt.spread_sessions]).astype(np.float32)


def session_scores(one: Example, learnt: Learnt) -> Values:
    """What each session of an example is worth [g]."""
    return np.asarray(session_rows(one, turn_scores(one, learnt), learnt) @ learnt.sessions)


Measures = dict[str, list[float]]


def measured(right: NDArray[np.bool_], scores: NDArray[Any], k: int) -> tuple[float, float, float]:
    """Recall any, all and fraction of the right ones among the `k` best."""
    best = np.lexsort((np.arange(len(scores)), -np.round(scores, 6)))[:k]
    found = float(right[best].sum() / right.sum())
    return float(found > 0), float(found == 1), found


def report(
    known: Sequence[Example], turns: Sequence[NDArray[Any]], sessions: Sequence[NDArray[Any]], title: str
) -> None:
    """Prints the recall of every benchmark and category."""
    rows: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for one, turn, session in zip(known, turns, sessions, strict=True):
        of_turns = measured(one.right_turns, turn, 10) if one.right_turns.any() else (np.nan,) * 3
        row = (*of_turns, *measured(one.right_sessions, session, 5), *measured(one.right_sessions, session, 10))
        for category in ("all", one.category):
            rows.setdefault((one.benchmark, category), []).append(row)
    head = "turn@10 any all fraction | session@5 any all fraction | session@10 any all fraction"
    print(f"\n{title}\n{'benchmark':12} {'category':28} {'n':>5}  {head}")
    for (benchmark, category), found in sorted(rows.items()):
        figures = " ".join(f"{value:6.3f}" for value in np.nanmean(np.array(found), axis=0))
        print(f"{benchmark:12} {category:28} {len(found):5}  {figures}")


def cross_validated(known: Sequence[Example], names: Names) -> None:
    """Prints how well examples are ranked by what was learnt from the others, beside BM25 and cosine alone."""
    learner = Learner(known)
    turns: list[Values] = [np.zeros(0)] * len(known)
    sessions: list[Values] = [np.zeros(0)] * len(known)
    for fold in sorted({(one.benchmark, one.fold) for one in known}):
        learnt = learner.learn(fold)
        for at, one in enumerate(known):
            if (one.benchmark, one.fold) == fold:
                turns[at], sessions[at] = turn_scores(one, learnt), session_scores(one, learnt)
    for title, turn, session in (
        ("BM25 of turns and sessions", "plain turn", "plain session"),
        ("BM25 of the words that carry meaning", "exact turn", "exact session"),
        ("Cosine", "whole turn", "whole session"),
    ):
        at_turn, at_session = names.turns.index(turn), names.sessions.index(session)
        report(known, [one.turns[:, at_turn] for one in known], [one.sessions[:, at_session] for one in known], title)
    report(known, turns, sessions, "Learnt from the others")


def to_write(learnt: Learnt, names: Names, from_turn_scores: Sequence[str]) -> dict[str, dict[str, float]]:
    """The weights by the names of the features as they are computed, without those that hardly count."""
    count = len(from_turn_scores)
    first = dict(zip(from_turn_scores, learnt.sessions[:count], strict=True))
    return {
        "turns": _named(names.turns, learnt.turns, learnt.spread_turns),
        "sessions": {
            **{name: round(float(value), 4) for name, value in first.items()},
            **_named(names.sessions, learnt.sessions[count:], learnt.spread_sessions),
        },
    }


def _named(names: Sequence[str], weights: Values, spread: Values) -> dict[str, float]:
    kept = [at for at in range(len(names)) if abs(weights[at]) > _SMALL]
    return {names[at]: round(float(weights[at] / spread[at]), 4) for at in kept}


def main() -> None:
    """Learns both sets of weights, prints what they reach on what they were not learnt from, and writes them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--locomo", type=Path, required=True)
    parser.add_argument("--longmemeval", type=Path, required=True)
    parser.add_argument("--beam", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help="write configs/scales_weights.json")
    given = parser.parse_args()
    written = {}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        sets = {
            "people": [locomo(given.locomo)],
            "assistant": [pooled(given.longmemeval, work), beam(given.beam)],
        }
        for name, benchmarks in sets.items():
            known: list[Example] = []
            for asked in benchmarks:
                found, names = examples(asked, Memory(work / asked.name))
                known += found
            cross_validated(known, names)
            told = list(from_turns(np.zeros(0, np.int64), np.zeros(0), known[0].line))
            written[name] = to_write(Learner(known).learn(None), names, told)
    if given.write:
        text = json.dumps(written, indent=1, sort_keys=True) + "\n"
        resource("configs/scales_weights.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
