"""A disk that is full ends the command with a sentence; what was committed stays, and more space continues it."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import amr, assert_one_sentence, contents, ran
from tests.support.memories import events_jsonl, said


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An events file that takes several MB as a memory and several commits."""
    rows = [(i, said(f"I put the cup on table {i}.", obj="cup")) for i in range(1_200)]
    return events_jsonl(tmp_path_factory.mktemp("events") / "day.jsonl", rows)


@pytest.fixture(scope="module")
def undisturbed(events: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    memory = tmp_path_factory.mktemp("undisturbed") / "memory"
    ran("ingest", events, "--memory", memory)
    return memory


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("this user may not mount a small file system")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


def test_a_full_disk_is_told_and_with_more_space_the_same_command_continues(
    events: Path, undisturbed: Path, small_disk: Path
) -> None:
    command = ("ingest", events, "--quiet", "--memory", small_disk / "memory")
    done = amr(*command)
    assert (done.code, done.out) == (3, "")
    assert_one_sentence(done.err, "disk")
    assert amr("status", "--memory", small_disk / "memory").code in (0, 3)
    subprocess.run(["mount", "-o", "remount,size=100m", small_disk], check=True)
    ran(*command)
    assert contents(small_disk / "memory") == contents(undisturbed)


def test_a_memory_on_a_disk_that_became_read_only_is_a_sentence(events: Path, small_disk: Path) -> None:
    memory = small_disk / "memory"
    memory.mkdir()
    (memory / "memory.duckdb").write_bytes(b"")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    for command in (("ask", "where is the cup?"), ("ingest", events, "--quiet")):
        done = amr(*command, "--memory", memory)
        assert (done.code, done.out) == (3, "")
        assert_one_sentence(done.err, str(memory))


@pytest.mark.parametrize("megabytes", [0.2, 1, 2])
def test_a_limit_on_the_size_of_files_is_told_and_without_it_the_same_command_continues(
    megabytes: float, events: Path, undisturbed: Path, tmp_path: Path
) -> None:
    def limit() -> None:
        size = int(megabytes * 1_000_000)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    command = ("ingest", events, "--quiet", "--memory", tmp_path / "memory")
    done = amr(*command, prepare=limit)
    assert (done.code, done.out) == (3, "")
    assert_one_sentence(done.err)
    ran(*command)
    assert contents(tmp_path / "memory") == contents(undisturbed)
