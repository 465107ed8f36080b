"""Arrays: how their indices are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from duckrow.core.errors import UsageError
from duckrow.core.jobs.arrays import MOST, parse_array


@pytest.mark.parametrize(
    ("text", "indices", "max_running"),
    [
        ("0", (0,), None),
        ("0-3", (0, 1, 2, 3), None),
        ("7-7", (7,), None),
        ("1,3,5-7", (1, 3, 5, 6, 7), None),
        ("0-20:5", (0, 5, 10, 15, 20), None),
        ("0-9:4", (0, 4, 8), None),
        ("0-3:9", (0,), None),
        ("5,1", (5, 1), None),
        ("0-3%2", (0, 1, 2, 3), 2),
        ("1,3%1", (1, 3), 1),
        ("0-4:2%999999", (0, 2, 4), 999999),
    ],
)
def test_indices_are_read_as_slurm_reads_them(text: str, indices: tuple[int, ...], max_running: int | None) -> None:
    assert parse_array(text) == (indices, max_running)


@pytest.mark.parametrize(
    ("text", "indices"), [("1,1", (1,)), ("0-3,2-5", (0, 1, 2, 3, 4, 5)), ("3,0-4", (3, 0, 1, 2, 4))]
)
def test_an_index_that_is_named_twice_is_one_job(text: str, indices: tuple[int, ...]) -> None:
    assert parse_array(text).indices == indices


@pytest.mark.parametrize("text", ["0-3%", "0-3%0", "0-3%-1", "0-3%x", "0-3%2%2", "0-3%1000000", "0-3%1.5"])
def test_a_wrong_number_at_a_time_is_told(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_array(text)
    assert str(raised.value) == f"--array {text}: the number after % is how many may run at a time, as in 0-9%4."


@pytest.mark.parametrize("text", ["", "x", "-1", "1-", "1,", ",1", "0-9:0", "0-9:", "0:5", "1.5", "1 2", "%4", "1-2-3"])
def test_what_cannot_be_read_is_told(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_array(text)
    assert str(raised.value).startswith(f"--array {text} cannot be read. Write 0-9")


@pytest.mark.parametrize(("text", "part"), [("3-0", "3-0"), ("1,9-8", "9-8")])
def test_a_range_that_runs_backwards_is_told(text: str, part: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_array(text)
    assert str(raised.value) == f"--array {text}: {part} is in the wrong order. Write the smaller number first."


@pytest.mark.parametrize("text", [f"0-{MOST}", f"1-{MOST},{MOST + 5}", f"0-{MOST - 2},0-1"])
def test_an_array_that_is_too_long_is_told(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_array(text)
    assert str(raised.value) == f"--array {text} is more than 1,000,000 jobs."


def test_the_longest_range_is_a_million() -> None:
    assert len(parse_array(f"1-{MOST}").indices) == MOST
    assert len(parse_array(f"0-{MOST * 5 - 1}:5").indices) == MOST


@given(st.lists(st.integers(0, 999_999_999), min_size=1, max_size=20))
def test_a_list_of_indices_means_just_these(indices: list[int]) -> None:
    assert parse_array(",".join(map(str, indices))).indices == tuple(dict.fromkeys(indices))
