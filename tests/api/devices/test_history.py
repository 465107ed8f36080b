"""The history of a GPU, out of what a host has noted and what was seen while somebody looked."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from duckrow.api.devices.history import thinned, with_seen


def points(*times: float, mb: int = 0) -> list[list[Any]]:
    return [[at, mb, 0, 40] for at in times]


def largest_gap(found: list[list[Any]]) -> Any:
    return max(after[0] - before[0] for before, after in pairwise(found))


def test_what_was_noted_while_nobody_looked_stays_between_two_looks() -> None:
    noted = points(*range(0, 600, 10))
    seen = points(*range(100, 130, 2), *range(500, 530, 2), mb=7)
    together = with_seen(noted, seen)
    assert largest_gap(together) <= 20
    assert [point for point in together if 100 <= point[0] < 130] == points(*range(100, 130, 2), mb=7)
    assert together == sorted(together)


def test_a_history_in_which_somebody_looked_for_an_hour_keeps_the_rest_of_the_day() -> None:
    noted = points(*range(0, 86_400, 120))
    together = thinned(with_seen(noted, points(*range(43_200, 46_800, 2))), 300)
    assert len(together) <= 301
    assert largest_gap(together) <= 2 * 86_400 / 300
    assert together[-1][0] == 86_280


def test_few_points_stay_as_they_are() -> None:
    assert thinned(points(1, 2, 3), 300) == points(1, 2, 3)
    assert thinned([], 300) == []
    assert with_seen([], []) == []
