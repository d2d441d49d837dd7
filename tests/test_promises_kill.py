"""Killed or interrupted at any instant, the same command continues to the memory of a run left alone."""

from __future__ import annotations

import random
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.command import assert_one_sentence, contents, moved_on, ran, root, start, stopped
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


Moment = Callable[[Path], Callable[[], bool]]


def the_memory_is_begun(memory: Path) -> Callable[[], bool]:
    return (memory / "writer.lock").exists


def the_tables_are_made(memory: Path) -> Callable[[], bool]:
    return (memory / "memory.duckdb").exists


def stopped_at_each(
    moments: Sequence[tuple[Moment, float]], sign: int, command: tuple[object, ...], folder: Path
) -> Iterator[tuple[Path, int, str, str]]:
    """Stops the command a random time after each of the moments: the memory, exit code, stdout and stderr.

    A run that ends before it can be stopped, as happens on a busy machine, makes way for a new memory.
    """
    chance, memories = random.Random(7), (folder / f"memory{number}" for number in range(20))
    memory = next(memories)
    for moment, within_seconds in moments:
        while True:
            process = start(*command, "--memory", memory)
            landed = stopped(process, moment(memory), chance.uniform(0, within_seconds), sign)
            out, err = process.communicate(timeout=60)
            if landed:
                break
            memory = next(memories)
        yield memory, process.returncode, out, err


@pytest.mark.parametrize("source", ["film", pytest.param("events", marks=pytest.mark.soak)])
def test_killed_five_times_the_same_command_gives_the_memory_of_a_run_left_alone(
    source: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    command = ("ingest", request.getfixturevalue(source), "--clip-seconds", 2)
    moments = [(the_memory_is_begun, 0.05), (the_tables_are_made, 0.1), *[(moved_on, 0.04)] * 3]
    for stop in stopped_at_each(moments, signal.SIGKILL, command, tmp_path):
        memory, code, _, _ = stop
        assert code == -signal.SIGKILL
    ran(*command, "--memory", memory)
    assert contents(memory) == contents(request.getfixturevalue(f"{source}_memory"))


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
    command = ("ingest", request.getfixturevalue(source), "--clip-seconds", 2, "--quiet")
    for stop in stopped_at_each([(moved_on, 0.05)] * 2, signal.SIGINT, command, tmp_path):
        memory, code, out, err = stop
        assert (code, out) == (130, ""), err
        assert_one_sentence(err, "Run the same command to continue")
    ran(*command, "--memory", memory)
    assert contents(memory) == contents(request.getfixturevalue(f"{source}_memory"))


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("source", ["film", "events"])
def test_killed_at_any_instant_of_the_run_again_and_again(
    source: str, seed: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    chance, memory = random.Random(seed), tmp_path / "memory"
    command = ("ingest", request.getfixturevalue(source), "--clip-seconds", 2, "--memory", memory)
    for _ in range(5):
        process = start(*command)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=chance.uniform(0.2, 2.5))
        process.send_signal(chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT]))
        process.communicate()
    ran(*command)
    assert contents(memory) == contents(request.getfixturevalue(f"{source}_memory"))
