"""Which runs a SLURM job begins in the time that it has left."""

from __future__ import annotations

import pytest

from duckrow.core.clusters.time_left import fits, length_to_fit
from duckrow.core.schedule.run_times import ExpectedTime, TimeBasis


@pytest.mark.parametrize(
    ("length", "left", "whole", "begun"),
    [
        (60.0, 100.0, 1000.0, True),
        (200.0, 100.0, 1000.0, False),
        (None, 1.0, 1000.0, True),  # nobody knows
        (200.0, None, None, True),  # no limit
        (5000.0, 999.0, 1000.0, True),  # it has just begun, and none has more
        (5000.0, 900.0, 1000.0, False),
    ],
)
def test_a_run_is_begun_where_it_fits(length: float, left: float, whole: float, begun: bool) -> None:
    assert fits(length, left, whole) is begun


def test_what_is_learned_counts_more_than_a_generous_limit() -> None:
    learned = ExpectedTime(60.0, at_least_s=50.0, at_most_s=100.0, basis=TimeBasis.SAME, runs=3)
    assert length_to_fit(None, None) is None
    assert length_to_fit(None, 3600.0) == 3600.0
    assert length_to_fit(learned, 3600.0) == pytest.approx(110.0)
    assert length_to_fit(learned, 80.0) == 80.0
    assert length_to_fit(learned, None) == pytest.approx(110.0)
