"""One gate per model that all threads pass, so that what the provider tells one of them is heeded by all."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from amr.models.chat import Stopped

_POLL_S = 0.25


class Throttle:
    """Lets calls through: any number at once until the provider refuses one for being too many.

    Then it closes for as long as the provider asked for (else a little, and twice as long each time), and lets half
    as many through; each success lets a little more through again.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._limit = math.inf
        self._in_flight = 0
        self._opens_at = 0.0
        self._slowed_at = -math.inf
        self._refusals = 0
        self._succeeded_at: float | None = None
        self._made_at = time.monotonic()

    @contextmanager
    def slot(self, stop: threading.Event) -> Iterator[float]:
        """Waits for its turn, and gives the time at which the call begins. Raises Stopped when `stop` is set."""
        with self._changed:
            while not self._is_free():
                if stop.is_set():
                    break
                self._changed.wait(max(0.01, min(_POLL_S, self._opens_at - time.monotonic())))
            if stop.is_set():
                raise Stopped("The run is being stopped.")
            self._in_flight += 1
        try:
            yield time.monotonic()
        finally:
            with self._changed:
                self._in_flight -= 1
                self._changed.notify_all()

    def _is_free(self) -> bool:
        return time.monotonic() >= self._opens_at and self._in_flight < self._limit

    def slow_down(self, began_at: float, asked_s: float | None, first_wait_s: float, longest_wait_s: float) -> None:
        """Notes that a call which began at `began_at` was refused; `asked_s` is the wait the provider asked for."""
        with self._changed:
            if began_at >= self._slowed_at:  # calls sent together are refused together, which is one refusal
                self._limit = max(1, math.floor(min(self._limit, self._in_flight) / 2))
                self._slowed_at = time.monotonic()
                self._refusals += 1
            doubled = first_wait_s * 2.0 ** min(self._refusals - 1, 60)
            wait_s = min(longest_wait_s, doubled) if asked_s is None else asked_s
            self._opens_at = max(self._opens_at, time.monotonic() + wait_s)

    def succeeded(self) -> None:
        """Notes that a call was answered."""
        with self._changed:
            self._succeeded_at = time.monotonic()
            self._refusals = 0
            self._limit += 1 / self._limit
            self._changed.notify_all()

    @property
    def ever_succeeded(self) -> bool:
        """Whether a call has been answered yet."""
        return self._succeeded_at is not None

    def silent_s(self) -> float:
        """Seconds since the last call that was answered, or since the beginning."""
        return time.monotonic() - (self._made_at if self._succeeded_at is None else self._succeeded_at)


_making = threading.Lock()


def shared_throttle(base_url: str, model: str) -> Throttle:
    """The gate of a model, the same for every role that uses it."""
    with _making:
        return _throttle(base_url, model)


@cache
def _throttle(base_url: str, model: str) -> Throttle:
    return Throttle()
