"""When two failures are the same."""

from __future__ import annotations

import pytest

from duckrow.core.jobs.selection import parse_selection
from duckrow.core.life.failures import compact_ids, essence


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("job 12 at 0x7f00", "job 13 at 0x8abc"),
        ("FileNotFoundError: '/data/run 1/a.pt'", "FileNotFoundError: '/other/run 2/b.pt'"),
        ("loss 1.25e-3 after 10:02:33", "loss 7 after 09:00:01"),
        ("CUDA out of memory. Tried to allocate 2.50 GiB", "CUDA out of memory. Tried to allocate 20.00 GiB"),
        ("commit 1a2b3c4d5e failed", "commit 99887766ff failed"),
        ("a   b", "a b"),
    ],
)
def test_numbers_addresses_and_paths_do_not_make_a_difference(one: str, other: str) -> None:
    assert essence(one) == essence(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("KeyError: 'lr'", "KeyError: 'bs'"),
        ("ValueError: 1", "TypeError: 1"),
        ("and/or", "and"),
        ("deadbeef", "facade"),
    ],
)
def test_words_make_a_difference(one: str, other: str) -> None:
    assert essence(one) != essence(other)


@pytest.mark.parametrize(
    ("ids", "text"), [([], ""), ([3], "3"), ([12, 3, 5, 9, 10, 11], "3,5,9-12"), ([1, 2, 2], "1-2")]
)
def test_ids_are_written_as_people_type_them(ids: list[int], text: str) -> None:
    assert compact_ids(ids) == text
    assert {i for first, last in parse_selection([text]).ranges for i in range(first, last + 1)} == set(ids)
