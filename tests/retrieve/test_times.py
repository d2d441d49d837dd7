from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amr.errors import UsageError
from amr.retrieve.times import iso_time, parse_time, parse_wall_time, show_moment
from amr.store.rows import SourceRow

DAY1 = int(datetime(2000, 1, 1, tzinfo=timezone.utc).timestamp() * 1000)
DAY = 86_400_000
HOUR = 3_600_000


def source(origin: int | None = None, duration: int = 60_000) -> SourceRow:
    return SourceRow(1, "default", "key", "video", "film", "", origin, duration, True)


def at(text: str, *sources: SourceRow, end_of_day: bool = True) -> int:
    return parse_time(text, sources, end_of_day=end_of_day)


def test_a_clock_is_media_time_where_there_is_no_wall_clock() -> None:
    assert at("00:00:34", source()) == 34_000
    assert at("1:02:03.5", source()) == HOUR + 123_500
    assert at("00:34", source()) == 34 * 60_000


def test_a_clock_is_that_time_of_the_last_day_seen_where_there_is_one() -> None:
    two_days = source(DAY1 + 10 * HOUR, DAY)
    assert at("17:49:00", two_days) == DAY1 + DAY + 17 * HOUR + 49 * 60_000


def test_numbered_days_are_days_of_january_2000() -> None:
    assert at("DAY1 11:09:43", source(DAY1)) == DAY1 + 11 * HOUR + 9 * 60_000 + 43_000
    assert at("day2 17:49:00") == DAY1 + DAY + 17 * HOUR + 49 * 60_000


def test_a_day_alone_is_its_end_or_its_start() -> None:
    assert at("DAY2", end_of_day=True) == DAY1 + 2 * DAY - 1
    assert at("DAY2", end_of_day=False) == DAY1 + DAY
    assert at("2000-01-02", end_of_day=True) == DAY1 + 2 * DAY - 1
    assert at("2000-01-02", end_of_day=False) == DAY1 + DAY


def test_seconds_count_from_the_start() -> None:
    assert at("34", source()) == 34_000
    assert at("34.5s", source()) == 34_500
    assert at("10", source(DAY1 + HOUR)) == DAY1 + HOUR + 10_000


def test_iso_is_understood_with_and_without_a_zone() -> None:
    assert at("2000-01-01T11:09:43") == DAY1 + 11 * HOUR + 9 * 60_000 + 43_000
    assert at("2000-01-01 12:00:00+01:00") == DAY1 + 11 * HOUR
    assert at("2000-01-01T11:00:00Z") == DAY1 + 11 * HOUR


@pytest.mark.parametrize("text", ["", "yesterday", "25 past", "DAY1 noon", "00:99:00", "2000-13-01", "DAY"])
def test_what_is_no_time_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        at(text, source())
    assert str(refused.value).endswith(".")
    assert "\n" not in str(refused.value)


def test_a_wall_time_is_iso_only() -> None:
    assert parse_wall_time("2030-01-31T14:05:00Z") == 1_896_098_700_000
    with pytest.raises(UsageError):
        parse_wall_time("DAY1")


def test_moments_are_shown_as_people_write_them() -> None:
    assert show_moment(DAY1 + DAY + 17 * HOUR, 5) == "DAY2 17:00:00"
    assert show_moment(DAY1 + 24 * 365 * DAY, None) == "2023-12-26 00:00:00"
    assert show_moment(None, 34_900) == "00:00:34"
    assert show_moment(None, 25 * HOUR) == "25:00:00"


@given(st.integers(min_value=0, max_value=7 * DAY - 1))
def test_a_shown_day_and_clock_is_read_back_to_the_second(offset: int) -> None:
    assert at(show_moment(DAY1 + offset, None)) == DAY1 + offset - offset % 1000


@given(st.integers(min_value=0, max_value=4_000_000_000_000))
def test_iso_time_is_read_back(moment: int) -> None:
    assert at(iso_time(moment)) == moment or len(iso_time(moment)) == 10
