"""Calls that commands which only read have made: none is left out of the ledger, none is in it twice."""

from __future__ import annotations

from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest

from amr.records import CallRow
from amr.store import asked, database
from amr.store.writer import writing
from tests.support.memories import EMBEDDER

PAID = CallRow("k1", "answer", "answer", "h", "m", 100, 10, 0.5, 1.0, False, "amr ask", 1)
AGAIN = replace(PAID, cached=True, cost_usd=0.0, wall_ms=2)


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    (tmp_path / "calls").mkdir()
    with writing(tmp_path, "test", EMBEDDER):
        pass
    return tmp_path


def costs(memory: Path) -> list[tuple[str, int, int, int, float]]:
    with database.reading(memory) as snapshot:
        return [(row.role, row.calls, row.cached, row.prompt_tokens, row.cost_usd) for row in snapshot.costs()]


def test_they_count_before_and_after_a_writer_takes_them_up(memory: Path) -> None:
    asked.note(memory, [PAID, AGAIN])
    wanted = [("answer", 1, 1, 100, 0.5)]
    assert costs(memory) == wanted
    with writing(memory, "test", EMBEDDER):
        assert asked.noted(memory) == []
    assert costs(memory) == wanted


def test_a_call_that_several_commands_found_on_disk_was_paid_once(memory: Path) -> None:
    for _ in range(3):
        asked.note(memory, [PAID, AGAIN])
    assert costs(memory) == [("answer", 1, 3, 100, 0.5)]
    with writing(memory, "test", EMBEDDER):
        pass
    asked.note(memory, [PAID])
    assert costs(memory) == [("answer", 1, 3, 100, 0.5)]


def test_a_price_that_is_not_known_is_none_of_the_sum(memory: Path) -> None:
    asked.note(memory, [PAID, replace(PAID, key="k2", cost_usd=None)])
    assert costs(memory) == [("answer", 2, 0, 200, 0.5)]


def test_a_line_cut_off_by_a_kill_hides_no_other(memory: Path) -> None:
    asked.note(memory, [PAID])
    with (memory / "calls" / "asked.jsonl").open("a") as file:
        file.write('\n{"key": "k2", "ro')
    asked.note(memory, [AGAIN])
    assert asked.noted(memory) == [PAID, AGAIN]


def _note_many(memory: Path, first: int) -> None:
    for number in range(first, first + 50):
        asked.note(memory, [replace(PAID, key=f"k{number}", wall_ms=number)])


def test_many_processes_may_note_calls_while_writers_take_them_up(memory: Path) -> None:
    context = get_context("spawn")
    processes = [context.Process(target=_note_many, args=(memory, 100 * number)) for number in range(4)]
    for process in processes:
        process.start()
    while any(process.is_alive() for process in processes):
        with writing(memory, "test", EMBEDDER):
            pass
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert costs(memory) == [("answer", 200, 0, 20_000, 100.0)]
