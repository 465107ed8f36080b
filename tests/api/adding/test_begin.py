"""When a job may begin, as people write it."""

from __future__ import annotations

import time
from datetime import datetime

import pytest

from duckrow.api.adding.begin import Begin, parse_begin
from duckrow.core.errors import UsageError

NOW = datetime(2026, 11, 15, 21, 30, 12, 345678)


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("22:00", datetime(2026, 11, 15, 22, 0)),
        ("21:31", datetime(2026, 11, 15, 21, 31)),
        ("21:30", datetime(2026, 11, 16, 21, 30)),
        ("8:05", datetime(2026, 11, 16, 8, 5)),
        ("00:00", datetime(2026, 11, 16)),
        (" 22:00 ", datetime(2026, 11, 15, 22, 0)),
        ("tomorrow", datetime(2026, 11, 16)),
        ("Tomorrow", datetime(2026, 11, 16)),
        ("2026-11-16", datetime(2026, 11, 16)),
        ("2026-11-16 08:00", datetime(2026, 11, 16, 8)),
        ("2026-11-16T08:00:30", datetime(2026, 11, 16, 8, 0, 30)),
        ("2026-11-01", datetime(2026, 11, 1)),
    ],
)
def test_a_time_to_begin_is_read(text: str, begins: datetime) -> None:
    assert parse_begin(text, NOW) == Begin(begins.timestamp())


@pytest.mark.parametrize(
    ("text", "delay_s"), [("+2h", 7200), ("now+30m", 1800), ("+90", 90), ("+1d", 86400), (" +1m", 60)]
)
def test_a_time_ahead_is_a_delay_whatever_the_clock_says(text: str, delay_s: float) -> None:
    assert parse_begin(text, NOW) == Begin(delay_s=delay_s)


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("22:00:30", datetime(2026, 11, 15, 22, 0, 30)),
        ("10:05PM", datetime(2026, 11, 15, 22, 5)),
        ("12:05 am", datetime(2026, 11, 16, 0, 5)),
        ("noon", datetime(2026, 11, 16, 12)),
        ("teatime", datetime(2026, 11, 16, 16)),
        ("12/24", datetime(2026, 12, 24)),
        ("1/2", datetime(2027, 1, 2)),
        ("12/24/27", datetime(2027, 12, 24)),
        ("122427", datetime(2027, 12, 24)),
    ],
)
def test_what_sbatch_reads_as_a_time_is_one(text: str, begins: datetime) -> None:
    assert parse_begin(text, NOW) == Begin(begins.timestamp())


@pytest.mark.parametrize(("text", "delay_s"), [("now+1hour", 3600), ("now + 60", 60), ("now+2days", 172800)])
def test_what_sbatch_reads_as_a_delay_is_one(text: str, delay_s: float) -> None:
    assert parse_begin(text, NOW) == Begin(delay_s=delay_s)


def test_now_is_at_once() -> None:
    assert parse_begin("now", NOW) == parse_begin("today", NOW) == Begin()


def test_a_time_with_a_zone_is_taken_in_that_zone() -> None:
    assert parse_begin("2026-11-16 08:00+02:00", NOW) == Begin(1794808800.0)


def test_a_clock_that_shows_this_very_minute_means_tomorrow() -> None:
    on_the_dot = NOW.replace(second=0, microsecond=0)
    assert parse_begin("21:30", on_the_dot) == Begin(datetime(2026, 11, 16, 21, 30).timestamp())


def test_the_month_and_the_year_turn() -> None:
    last_evening = datetime(2026, 12, 31, 23, 0)
    assert parse_begin("22:00", last_evening) == Begin(datetime(2027, 1, 1, 22, 0).timestamp())
    assert parse_begin("tomorrow", last_evening) == Begin(datetime(2027, 1, 1).timestamp())


def test_without_a_clock_it_is_now() -> None:
    tomorrow = parse_begin("tomorrow").not_before
    assert tomorrow is not None
    assert time.time() < tomorrow <= time.time() + 25 * 3600


@pytest.mark.parametrize("text", ["", "whenever", "25:00", "22:60", "22", "2026-13-01", "13/01", "2026-11-16 8 am"])
def test_what_is_no_time_is_told(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_begin(text, NOW)
    assert str(raised.value).startswith(f"'{text}' is not a start time. Write 22:00, +2h, tomorrow")


@pytest.mark.parametrize("text", ["+", "+soon", "now+x"])
def test_what_is_no_time_ahead_is_told(text: str) -> None:
    with pytest.raises(UsageError):
        parse_begin(text, NOW)
