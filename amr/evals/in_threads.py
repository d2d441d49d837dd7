"""Questions answered side by side: what calls models runs in threads, everything else in the caller's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, TypeVar

from amr.errors import ProviderError

_P = TypeVar("_P")

Line = dict[str, Any]
Done = tuple[Line, "ProviderError | None"]

_MOST_IN_A_ROW = 3
_AHEAD = 2
"""Questions prepared for each thread before it is their turn."""


def in_threads(
    prepared: Iterable[_P],
    work: Callable[[_P], Done],
    jobs: int,
    write: Callable[[Line], None],
    close: Callable[[], None],
) -> None:
    """Does `work` on everything prepared, `jobs` at once, and writes each line as it is done, in this thread.

    `prepared` is drawn on as there is room, in this thread. A question that fails because of the provider (`work`
    gives its error) may fail by itself: its line waits until another one succeeds. After three such in a row, or
    where none succeeds at all, their lines are dropped, to be asked again, and the last error is raised. Any
    exception of `work` is raised at once; `close` is called before, to end what is still under way.
    """
    lines = _Lines(write)
    waiting: list[Future[Done]] = []
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for one in prepared:
                waiting.append(pool.submit(work, one))
                waiting = _written(waiting, lines, full=jobs * _AHEAD)
            while waiting:
                waiting = _written(waiting, lines, full=1)
            lines.end()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            close()
            raise


def _written(waiting: list[Future[Done]], lines: _Lines, full: int) -> list[Future[Done]]:
    """What is still under way once all that is done has been written; waits for one where as many as `full` are.

    What is done by then is written in the order of the questions.
    """
    if len(waiting) >= full and not any(one.done() for one in waiting):
        wait(waiting, return_when=FIRST_COMPLETED)
    done = [one for one in waiting if one.done()]
    for one in done:
        lines.add(*one.result())
    return [one for one in waiting if one not in done]


@dataclass
class _Lines:
    """Lines on their way to be written; those that the provider failed wait to see whether it fails all."""

    write: Callable[[Line], None]
    held: list[Line] = field(default_factory=list)
    last: ProviderError | None = None
    succeeded: bool = False

    def add(self, line: Line, error: ProviderError | None) -> None:
        if error is not None:
            self.held.append(line)
            self.last = error
            if len(self.held) >= _MOST_IN_A_ROW:
                raise error
            return
        for one in (*self.held, line):
            self.write(one)
        self.held.clear()
        self.last, self.succeeded = None, True

    def end(self) -> None:
        """Writes what is held when the provider was there at all. Raises its last error otherwise."""
        if self.last is not None and not self.succeeded:
            raise self.last
        for one in self.held:
            self.write(one)
