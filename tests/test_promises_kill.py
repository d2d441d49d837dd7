"""Killed or interrupted at any instant, the same command continues to the memory of a run left alone."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import assert_one_sentence, contents, moved_on, ran, root, start, stop_at
from tests.support.memories import events_jsonl, said

CLIPS = 3_500


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An events file so long that it is committed in several groups of clips."""
    rows = [(i, said(f"I put the cup on table {i}.", obj="cup")) for i in range(CLIPS)]
    return events_jsonl(tmp_path_factory.mktemp("events") / "day.jsonl", rows)


@pytest.fixture(scope="module")
def events_memory(events: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    memory = tmp_path_factory.mktemp("undisturbed") / "events"
    ran("ingest", events, "--memory", memory)
    return memory


def kill(arguments: tuple[object, ...], memory: Path, reached: Callable[[], bool], then_seconds: float) -> None:
    process = start(*arguments, "--memory", memory)
    stop_at(process, reached, then_seconds, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def test_a_film_killed_five_times_is_whole_after_the_same_command(
    film: Path, film_memory: Path, tmp_path: Path
) -> None:
    chance, memory = random.Random(1), tmp_path / "memory"
    command = ("ingest", film, "--clip-seconds", 2)
    # Twice while the memory is made and the first clip is written, then from one commit to the next.
    kill(command, memory, (memory / "writer.lock").exists, chance.uniform(0, 0.05))
    kill(command, memory, (memory / "memory.duckdb").exists, chance.uniform(0, 0.05))
    for _ in range(3):
        kill(command, memory, moved_on(memory), chance.uniform(0, 0.02))
    ran(*command, "--memory", memory)
    assert contents(memory) == contents(film_memory)


def test_events_killed_five_times_are_whole_after_the_same_command(
    events: Path, events_memory: Path, tmp_path: Path
) -> None:
    chance, memory = random.Random(2), tmp_path / "memory"
    kill(("ingest", events), memory, (memory / "memory.new").exists, chance.uniform(0, 0.03))
    kill(("ingest", events), memory, (memory / "memory.duckdb").exists, chance.uniform(0, 0.15))
    for _ in range(3):
        kill(("ingest", events), memory, moved_on(memory), chance.uniform(0, 0.05))
    ran("ingest", events, "--memory", memory)
    assert contents(memory) == contents(events_memory)


def test_a_memory_killed_while_its_tables_are_made_is_made_anew(film: Path, tmp_path: Path) -> None:
    import duckdb

    memory = tmp_path / "memory"
    memory.mkdir()
    # What a kill in the middle of making the tables leaves: the file, and its log beside it.
    half_made = duckdb.connect(str(memory / "memory.new"))
    half_made.execute("CREATE TABLE meta(key VARCHAR, value VARCHAR)")
    log = (memory / "memory.new.wal").read_bytes()
    half_made.close()
    (memory / "memory.new.wal").write_bytes(log)
    ran("ingest", film, "--perceiver", "null", "--memory", memory)
    fresh = tmp_path / "fresh"
    ran("ingest", film, "--perceiver", "null", "--memory", fresh)
    assert root(memory) == root(fresh)


@pytest.mark.parametrize("source", ["film", "events"])
def test_an_interrupted_command_says_so_in_a_sentence_and_continues_later(
    source: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    chance, memory = random.Random(source), tmp_path / "memory"
    command = ("ingest", request.getfixturevalue(source), "--clip-seconds", 2, "--quiet", "--memory", memory)
    for _ in range(2):
        process = start(*command)
        stop_at(process, moved_on(memory), chance.uniform(0, 0.03), signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out) == (130, ""), err
        assert_one_sentence(err, "Run the same command to continue")
    ran(*command)
    assert contents(memory) == contents(request.getfixturevalue(f"{source}_memory"))
