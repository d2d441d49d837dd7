"""Which times a question names, and how near sessions are to them."""

from __future__ import annotations

from datetime import datetime, timezone

import numpy as np
import pytest

from amr.retrieve.named_times import named_spans, nearness, years_of


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() * 1000)


def days(question: str, now: str | None = None) -> list[tuple[str, str]]:
    spans = named_spans(question, [2022, 2023], None if now is None else ms(now))
    return [tuple(f"{datetime.fromtimestamp(at / 1000, timezone.utc):%Y-%m-%d}" for at in span) for span in spans]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did Ann do in May 2023?", [("2023-05-01", "2023-06-01")]),
        ("What did Ann do on 3 July, 2023?", [("2023-07-03", "2023-07-04")]),
        ("What did Ann do on October 13th 2022?", [("2022-10-13", "2022-10-14")]),
        ("What did Ann do in March?", [("2022-03-01", "2022-04-01"), ("2023-03-01", "2023-04-01")]),
        ("Where was Ann in the winter of 2022?", [("2022-12-01", "2023-03-01")]),
        ("What did Ann buy in 2023?", [("2023-01-01", "2024-01-01")]),
        ("What may Ann do?", []),
        ("When did Ann fall?", []),
    ],
)
def test_dates_of_a_question(question: str, expected: list[tuple[str, str]]) -> None:
    assert days(question) == expected


def test_times_from_now_need_the_moment_of_asking() -> None:
    assert days("What did I buy two weeks ago?") == []
    assert days("What did I buy two weeks ago?", "2023-05-29") == [("2023-05-11", "2023-05-19")]
    assert days("Whom did I meet last week?", "2023-05-29") == [("2023-05-19", "2023-05-29")]


def test_sessions_soon_after_a_time_are_near_it() -> None:
    times = np.array([ms("2023-04-20"), ms("2023-05-10"), ms("2023-06-05"), ms("2023-12-01"), np.nan])
    near, during = nearness(named_spans("in May 2023", years_of(times), None), times)
    assert during.tolist() == [0, 1, 0, 0, 0]
    assert near[1] == 1 and near[4] == 0
    assert near[1] > near[2] > near[0] > near[3]
