"""Readers and a writer in many processes: nobody starves, and a kill leaves no lock behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from amr.store import database, gate
from amr.store.snapshot import Snapshot
from amr.store.writer import writing
from tests.support.memories import EMBEDDER, Film, said

PROCESSES = multiprocessing.get_context("spawn")


def read_until(directory: Path, stop: Any, seen: Any) -> None:
    while not stop.is_set():
        with database.reading(directory) as snapshot:
            nodes, edges = snapshot.counts()
            # One event per clip: a chain of n events has n - 1 edges in every commit.
            seen.put((snapshot.commits(), nodes["event"], edges.get("temporal", 0)))


def hold_writer_lock(directory: Path, ready: Any) -> None:
    with gate.writing_command(directory, "amr ingest forever"), gate.exclusive(directory):
        ready.set()
        time.sleep(60)


def test_eight_readers_and_a_writer_all_make_progress(tmp_path: Path) -> None:
    stop, seen = PROCESSES.Event(), PROCESSES.Queue()
    with writing(tmp_path, "test", EMBEDDER) as writer:
        film = Film(writer)
        film.clip(0, said("clip 0"))
        readers = [PROCESSES.Process(target=read_until, args=(tmp_path, stop, seen)) for _ in range(8)]
        for reader in readers:
            reader.start()
        observed = [seen.get(timeout=30)]
        for index in range(1, 25):
            film.clip(index, said(f"clip {index}"))
            while not seen.empty():
                observed.append(seen.get())
        stop.set()
        for reader in readers:
            reader.join(timeout=30)
            assert reader.exitcode == 0
    assert len(observed) >= 20
    assert all(events == commits and edges == events - 1 for commits, events, edges in observed)
    assert len({commits for commits, _, _ in observed}) > 3


def test_a_killed_writer_leaves_no_lock(tmp_path: Path) -> None:
    ready = PROCESSES.Event()
    process = PROCESSES.Process(target=hold_writer_lock, args=(tmp_path, ready))
    process.start()
    assert ready.wait(timeout=30)
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()
    with writing(tmp_path, "test", EMBEDDER, wait_seconds=1) as writer:
        Film(writer).clip(0, said("after the kill"))


def test_a_long_question_lets_a_writer_in_and_is_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_HELD_SECONDS", 0.0)
    with writing(tmp_path, "test", EMBEDDER) as writer:
        film = Film(writer)
        film.clip(0, said("before the question"))
        begun = []

        def work(snapshot: Snapshot) -> int:
            begun.append(snapshot)
            if len(begun) == 1:
                writer_thread.start()
                while writer_thread.is_alive():
                    snapshot.counts()
                snapshot.counts()
            return snapshot.counts()[0]["event"]

        writer_thread = Thread(target=lambda: film.clip(1, said("during the question")), daemon=True)
        assert database.read(tmp_path, "default", work) == 2
        writer_thread.join()
    assert len(begun) == 2


def test_a_question_that_nothing_interrupts_is_begun_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_HELD_SECONDS", 0.0)
    with writing(tmp_path, "test", EMBEDDER) as writer:
        Film(writer).clip(0, said("before the question"))
    begun = []

    def work(snapshot: Snapshot) -> list[int]:
        begun.append(snapshot)
        return [snapshot.counts()[0]["event"] for _ in range(3)]

    assert database.read(tmp_path, "default", work) == [1, 1, 1]
    assert len(begun) == 1
