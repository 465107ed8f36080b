"""Times and sizes as people write them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.core.errors import EXIT_USAGE, UsageError
from duckrow.core.units import format_duration, parse_duration_s, parse_size_bytes


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("0.5", 0.5),
        ("90s", 90),
        ("250ms", 0.25),
        ("30m", 1800),
        ("30min", 1800),
        ("2h", 7200),
        ("1.5h", 5400),
        ("1d", 86400),
        ("1w", 604800),
        ("1h30m", 5400),
        ("1d2h3m4s", 93784),
        ("2H", 7200),
        (" 10s ", 10),
        ("2:30", 9000),
        ("2:30:05", 9005),
        ("1-12:00:00", 129600),
        ("0", 0),
    ],
)
def test_a_time_is_read_as_people_write_it(text: str, seconds: float) -> None:
    assert parse_duration_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "soon", "-5", "5x", "5 minutes", "1h-30m", "h", "1:2:3", "1:30:00:00", "1.2.3", "s30", "30s!", "inf"]
)
def test_what_is_no_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a time\. Write 90s, 30m") as caught:
        parse_duration_s(text)
    assert f"'{text}'" in str(caught.value)
    assert caught.value.exit_code == EXIT_USAGE


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8192", 8192),
        ("8192b", 8192),
        ("0", 0),
        ("64K", 64 << 10),
        ("10M", 10 << 20),
        ("10mb", 10 << 20),
        ("24G", 24 << 30),
        ("24GiB", 24 << 30),
        ("24 GB", 24 << 30),
        ("1.5GB", 3 << 29),
        ("2T", 2 << 40),
        (" 1k ", 1 << 10),
    ],
)
def test_a_size_is_read_in_powers_of_1024(text: str, size: int) -> None:
    assert parse_size_bytes(text) == size


@pytest.mark.parametrize("text", ["", "big", "-1M", "10X", "G", "1,5G", "10M10K", "10 M B", "0x10"])
def test_what_is_no_size_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a size\. Write 500K, 10M") as caught:
        parse_size_bytes(text)
    assert f"'{text}'" in str(caught.value)


@pytest.mark.parametrize("parse", [parse_size_bytes, parse_duration_s])
def test_what_is_beyond_all_measure_is_refused(parse: Callable[[str], float]) -> None:
    with pytest.raises(UsageError, match="is not a"):
        parse("9" * 400)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0.0s"),
        (0, "0.0s"),
        (0.34, "0.3s"),
        (9.9, "9.9s"),
        (10, "10s"),
        (10.7, "10s"),
        (42.9, "42s"),
        (59.99, "59s"),
        (60, "1m 00s"),
        (185, "3m 05s"),
        (3599, "59m 59s"),
        (3600, "1h 00m"),
        (7620, "2h 07m"),
        (86400, "1d 00h"),
        (273600, "3d 04h"),
    ],
)
def test_a_duration_is_short_to_read(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.integers(0, 400), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_all_ways_to_write_a_time_mean_the_same(days: int, hours: int, minutes: int, seconds: int) -> None:
    as_units = parse_duration_s(f"{days}d{hours}h{minutes}m{seconds}s")
    assert as_units == parse_duration_s(f"{days}-{hours}:{minutes:02}:{seconds:02}")
    assert as_units == parse_duration_s(str(((days * 24 + hours) * 60 + minutes) * 60 + seconds))


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused_as_wrong_usage(text: str) -> None:
    for parse in (parse_duration_s, parse_size_bytes):
        try:
            assert parse(text) >= 0
        except UsageError:
            continue
