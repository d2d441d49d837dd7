"""Questions answered side by side: lines as they are done, and a provider that is away ends the run in good order."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from amr.errors import ProviderError
from amr.evals.in_threads import in_threads

AWAY = ProviderError("The provider refused the key.")


class Bench:
    """What is written, and whether the run was ended; `faults` are the questions that the provider fails."""

    def __init__(self, *faults: int, jobs: int = 1) -> None:
        self.faults, self.jobs = faults, jobs
        self.written: list[int] = []
        self.prepared: list[int] = []
        self.writers: set[str] = set()
        self.closed = False

    def work(self, number: int) -> tuple[dict[str, Any], ProviderError | None]:
        return {"id": number}, AWAY if number in self.faults else None

    def questions(self, count: int) -> Iterator[int]:
        for number in range(count):
            self.prepared.append(number)
            yield number

    def write(self, line: dict[str, Any]) -> None:
        self.written.append(line["id"])
        self.writers.add(threading.current_thread().name)

    def close(self) -> None:
        self.closed = True

    def run(self, count: int, work: Any = None) -> None:
        in_threads(self.questions(count), work or self.work, self.jobs, self.write, self.close)


def test_every_question_has_its_line_written_by_the_caller() -> None:
    bench = Bench(jobs=4)
    bench.run(20)
    assert sorted(bench.written) == list(range(20))
    assert bench.writers == {threading.current_thread().name}
    assert not bench.closed


def test_as_many_are_under_way_as_there_are_jobs_and_no_question_is_prepared_long_before() -> None:
    bench, under_way, most, ahead = Bench(jobs=3), [], [], []

    def work(number: int) -> tuple[dict[str, Any], None]:
        under_way.append(number)
        most.append(len(under_way))
        ahead.append(len(bench.prepared) - len(bench.written))
        time.sleep(0.01)
        under_way.remove(number)
        return {"id": number}, None

    bench.run(12, work)
    assert max(most) == 3
    assert max(ahead) <= 7


def test_one_question_that_the_provider_fails_is_written_as_failed() -> None:
    bench = Bench(2, 3, 7)
    bench.run(8)
    assert sorted(bench.written) == list(range(8))


def test_a_provider_that_fails_three_in_a_row_ends_the_run_and_these_are_asked_again() -> None:
    bench = Bench(2, 3, 4)
    with pytest.raises(ProviderError, match="refused the key"):
        bench.run(8)
    assert bench.written == [0, 1]
    assert bench.closed


def test_a_provider_that_fails_all_of_a_few_ends_the_run_too() -> None:
    bench = Bench(0, 1)
    with pytest.raises(ProviderError):
        bench.run(2)
    assert bench.written == []


def test_anything_else_that_goes_wrong_ends_the_run_at_once() -> None:
    bench = Bench()

    def work(number: int) -> tuple[dict[str, Any], None]:
        if number == 1:
            raise KeyError("a fault of ours")
        return {"id": number}, None

    with pytest.raises(KeyError):
        bench.run(5, work)
    assert bench.closed
    assert 1 not in bench.written
