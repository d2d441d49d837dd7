"""Measures chats: hundreds of haystacks ingested, then one question to each; the usual harness, rank-bm25, beside it.

The haystacks are made up, in LongMemEval's own format: words drawn by Zipf's law, sessions partly shared.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench_tools import Row, amr, done

from amr.config import load_settings
from amr.memory import Filters, Memory

HAYSTACKS = 500
SESSIONS = 50
TURNS = 10
WORDS = 30
SHARED = 0.6
"""Of the sessions of a haystack, the share that is drawn from a pool that all draw from."""
_POOL = 6_000
_VOCABULARY = 20_000


def chat_rows() -> list[Row]:
    """Ingestion of all haystacks, a question to each, and the same questions by rank-bm25, rebuilt for each."""
    with tempfile.TemporaryDirectory(prefix="amr-bench-") as name:
        folder = Path(name)
        file, questions = folder / "haystacks.json", folder / "questions.json"
        write_haystacks(file, questions, HAYSTACKS)
        return [*_amr_rows(folder, file, questions), *_usual_rows(file)]


def _amr_rows(folder: Path, file: Path, questions: Path) -> list[Row]:
    turns = HAYSTACKS * SESSIONS * TURNS
    cost = done(amr("ingest", file, "--memory", folder / "memory", "--quiet"))
    began = time.perf_counter()
    memory, settings = Memory(folder / "memory"), load_settings()
    right = 0
    asked: list[tuple[str, str, str]] = json.loads(questions.read_text())
    took = []
    for scope, question, wanted in asked:
        one = time.perf_counter()
        answer = memory.query(question, settings, Filters(scope=scope), k=10)
        took.append(time.perf_counter() - one)
        right += any(evidence.ref == wanted for evidence in answer.evidence)
    queried = time.perf_counter() - began
    took.sort()
    return [
        Row(
            "chats: turns ingested per second",
            turns / cost.wall,
            "turns/s",
            5_000,
            note=f"{turns} in {cost.wall:.1f} s",
        ),
        Row("chats: peak memory of ingestion", cost.peak, "MiB"),
        Row("chats: a question, median", took[len(took) // 2] * 1e3, "ms"),
        Row("chats: a question, 95 %", took[len(took) * 95 // 100] * 1e3, "ms"),
        Row("chats: the turn asked for among the first 10", 100 * right / len(asked), "%"),
        Row("chats: ingestion and all questions", cost.wall + queried, "s", 180, most=True),
    ]


def _usual_rows(file: Path) -> list[Row]:
    """What the harnesses of benchmarks do: read the file, and build an index of each haystack to put one question."""
    from rank_bm25 import BM25Okapi

    began = time.perf_counter()
    right = 0
    records = json.loads(file.read_text())
    for record in records:
        refs, texts = [], []
        for session, turns in zip(record["haystack_session_ids"], record["haystack_sessions"], strict=True):
            for number, turn in enumerate(turns, start=1):
                refs.append(f"{session}_{number}")
                texts.append(turn["content"].lower().split())
        scores = BM25Okapi(texts).get_scores(record["question"].lower().split())
        best = sorted(range(len(refs)), key=lambda at: -scores[at])[:10]
        right += any(refs[at] == record["answer"] for at in best)
    wall = time.perf_counter() - began
    return [
        Row("rank-bm25 rebuilt for each question: all of them", wall, "s"),
        Row("rank-bm25: the turn asked for among the first 10", 100 * right / len(records), "%"),
    ]


def write_haystacks(file: Path, questions: Path, count: int) -> None:
    """Writes `count` records as one JSON array, and (scope, question, ref of the turn that answers it) of each."""
    draw = random.Random(7)
    words = _vocabulary()
    weights = [1 / (rank + 3) for rank in range(len(words))]
    pool = [_session(draw, words, weights) for _ in range(min(_POOL, count * SESSIONS))]
    asked = []
    with file.open("w") as out:
        out.write("[")
        for number in range(count):
            record = _record(draw, words, weights, pool, number)
            asked.append((record["question_id"], record["question"], record["answer"]))
            out.write((",\n" if number else "") + json.dumps(record))
        out.write("]")
    questions.write_text(json.dumps(asked))


def _record(
    draw: random.Random, words: list[str], weights: list[float], pool: list[list[dict[str, str]]], number: int
) -> dict[str, Any]:
    ids, dates, sessions = [], [], []
    for place in range(SESSIONS):
        if draw.random() < SHARED:
            chosen = draw.randrange(len(pool))
            ids.append(f"shared_{chosen}_{place}")
            sessions.append(pool[chosen])
        else:
            ids.append(f"own_{number}_{place}")
            sessions.append(_session(draw, words, weights))
        dates.append(
            f"2023/{1 + place // 28:02}/{1 + place % 28:02} (Mon) {draw.randrange(24):02}:{draw.randrange(60):02}"
        )
    session, turn = draw.randrange(SESSIONS), draw.randrange(TURNS)
    told = sessions[session][turn]["content"].split()
    rare = sorted(set(told), key=lambda word: -words.index(word))[:6]
    return {
        "question_id": f"made_{number:04}",
        "question_type": "made-up",
        "question": "What did I say about " + " ".join(draw.sample(rare, min(4, len(rare)))),
        "answer": f"{ids[session]}_{turn + 1}",
        "question_date": "2023/12/30 (Sat) 12:00",
        "haystack_dates": dates,
        "haystack_session_ids": ids,
        "haystack_sessions": sessions,
        "answer_session_ids": [ids[session]],
    }


def _session(draw: random.Random, words: list[str], weights: list[float]) -> list[dict[str, str]]:
    drawn = iter(draw.choices(words, weights, k=TURNS * (WORDS + 20)))
    roles = ("user", "assistant")
    return [
        {"role": roles[n % 2], "content": " ".join(next(drawn) for _ in range(draw.randrange(WORDS - 15, WORDS + 16)))}
        for n in range(TURNS)
    ]


def _vocabulary() -> list[str]:
    """Words of the embedder's own, and compounds of them to make them many."""
    return list(dict.fromkeys(_made_words()))[:_VOCABULARY]


def _made_words() -> Iterator[str]:
    from tokenizers import Tokenizer

    from amr.resources import resource

    known = Tokenizer.from_file(str(resource("models/embedder/tokenizer.json"))).get_vocab()
    plain = sorted(
        (word for word in known if word.isascii() and word.isalpha() and len(word) > 2), key=known.__getitem__
    )
    yield from plain
    for first in plain[2000:2200]:
        for second in plain[1000:1050]:
            yield first + second
