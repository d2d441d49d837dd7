"""`--max-cost`: spent + reserved never passes the cap."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amr.errors import ProviderError
from amr.models.budget import Budget, BudgetReached
from amr.models.chat import Stopped

NEVER = threading.Event()


def test_without_a_cap_everything_is_let_through_and_counted() -> None:
    budget = Budget()
    with budget.hold(None, NEVER) as hold:
        hold.charge(0.25)
    assert budget.spent_usd == 0.25


def test_what_is_not_used_of_a_hold_is_given_back() -> None:
    budget = Budget(1.0)
    for _ in range(4):
        with budget.hold(0.7, NEVER) as hold:
            assert budget.committed_usd >= 0.7
            hold.charge(0.1)
    assert budget.committed_usd == pytest.approx(0.4)
    with pytest.raises(BudgetReached, match=r"--max-cost 1\.00") as caught, budget.hold(0.7, NEVER):
        pass
    assert caught.value.exit_code == 4 and isinstance(caught.value, ProviderError)


def test_a_call_whose_cost_never_became_known_counts_in_full() -> None:
    budget = Budget(1.0)
    with budget.hold(0.6, NEVER) as hold:
        hold.charge(None)
    assert budget.spent_usd == 0.6


def test_a_call_that_was_never_sent_costs_nothing() -> None:
    budget = Budget(1.0)
    with pytest.raises(ZeroDivisionError), budget.hold(0.6, NEVER):
        raise ZeroDivisionError
    assert budget.committed_usd == 0


def test_a_cap_with_an_unknown_price_is_refused() -> None:
    with pytest.raises(BudgetReached, match="price is not known"), Budget(1.0).hold(None, NEVER):
        pass


def test_a_call_waits_for_what_others_may_give_back() -> None:
    budget = Budget(1.0)
    began = threading.Event()

    def first() -> None:
        with budget.hold(0.9, NEVER) as hold:
            began.set()
            time.sleep(0.05)
            hold.charge(0.1)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(first)
        began.wait()
        with budget.hold(0.9, NEVER) as hold:
            hold.charge(0.9)
    assert budget.spent_usd == 1.0


def test_a_waiting_call_ends_when_the_run_is_stopped() -> None:
    budget, stop = Budget(1.0), threading.Event()
    stop.set()
    with budget.hold(0.9, NEVER), pytest.raises(Stopped), budget.hold(0.9, stop):
        pass


@settings(deadline=None, max_examples=15)
@given(
    st.lists(st.tuples(st.floats(0, 0.5), st.floats(0, 1)), min_size=1, max_size=60),
    st.floats(0.01, 3),
    st.integers(0, 2**32),
)
def test_spent_and_reserved_never_pass_the_cap_with_16_threads(
    calls: list[tuple[float, float]], cap: float, seed: int
) -> None:
    budget = Budget(cap)
    chance = random.Random(seed)
    over: list[float] = []
    served: list[float] = []

    def call(highest: float, share: float) -> None:
        try:
            with budget.hold(highest, NEVER) as hold:
                if budget.committed_usd > cap:
                    over.append(budget.committed_usd)
                time.sleep(chance.random() / 2000)
                hold.charge(highest * share)
                served.append(highest * share)
        except BudgetReached:
            pass

    with ThreadPoolExecutor(16) as pool:
        for highest, share in calls:
            pool.submit(call, highest, share)
    assert over == []
    assert budget.committed_usd <= cap
    assert budget.spent_usd == pytest.approx(sum(served), abs=1e-6)
