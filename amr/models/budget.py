"""Keeps a command within `--max-cost`: what is spent and what is in flight never pass it together."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from amr.errors import ProviderError
from amr.models.chat import Stopped

_PER_DOLLAR = 1_000_000_000
_POLL_S = 0.25


class BudgetReached(ProviderError):
    """The next call could pass `--max-cost`, so it was not sent. What is finished is kept."""


@dataclass
class Hold:
    """The part of a budget set aside for one attempt at a call, in billionths of a dollar."""

    reserved: int
    charged: int = 0

    def charge(self, usd: float | None) -> None:
        """Says what the attempt cost; None, when that is not known, charges all that was set aside."""
        self.charged = self.reserved if usd is None else _up(usd)


class Budget:
    """A cap in dollars, or none; safe to use from many threads."""

    def __init__(self, cap_usd: float | None = None) -> None:
        self._cap = None if cap_usd is None else int(cap_usd * _PER_DOLLAR)
        self._spent = 0
        self._reserved = 0
        self._changed = threading.Condition()

    @property
    def capped(self) -> bool:
        """Whether there is a cap."""
        return self._cap is not None

    @property
    def spent_usd(self) -> float:
        """What the calls have cost so far; one whose cost never became known counts as the most it could be."""
        return self._spent / _PER_DOLLAR

    @property
    def committed_usd(self) -> float:
        """What is spent and what is set aside for calls in flight."""
        with self._changed:
            return (self._spent + self._reserved) / _PER_DOLLAR

    @contextmanager
    def hold(self, usd: float | None, stop: threading.Event) -> Iterator[Hold]:
        """Sets aside the most that an attempt can cost, and counts what it did cost when the block ends.

        Waits while calls in flight may still give back what is missing. Raises BudgetReached when they cannot,
        and when a price is not known though there is a cap.
        """
        if usd is None and self._cap is not None:
            raise BudgetReached(
                "The model's price is not known, so --max-cost cannot be kept; "
                "add its price under [models] in the config, or leave --max-cost out."
            )
        hold = Hold(_up(usd or 0.0))
        self._reserve(hold.reserved, stop)
        try:
            yield hold
        finally:
            with self._changed:
                self._reserved -= hold.reserved
                self._spent += hold.charged
                self._changed.notify_all()

    def _reserve(self, amount: int, stop: threading.Event) -> None:
        with self._changed:
            while self._cap is not None and self._spent + self._reserved + amount > self._cap:
                if self._spent + amount > self._cap:
                    raise BudgetReached(
                        f"The next call could pass --max-cost {self._cap / _PER_DOLLAR:.2f} "
                        f"(${self.spent_usd:.4f} is spent); raise it and run the same command again to go on."
                    )
                if stop.is_set():
                    raise Stopped("The run is being stopped.")
                self._changed.wait(_POLL_S)
            self._reserved += amount


def _up(usd: float) -> int:
    """Billionths of a dollar, rounded up: integers add up exactly, so the cap holds to the last digit."""
    return -int(-usd * _PER_DOLLAR // 1)
