"""Which runs a SLURM job begins in the time that it has left."""

from __future__ import annotations

import pytest

from duckrow.core.clusters.time_left import Lengths, fits


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
    lengths = Lengths()
    assert lengths.expected_s("train", None) is None
    assert lengths.expected_s("train", 3600.0) == 3600.0
    for seconds in (100.0, 50.0, 60.0):
        lengths.note("train", seconds)
    assert lengths.expected_s("train", 3600.0) == pytest.approx(110.0)
    assert lengths.expected_s("train", 80.0) == 80.0
    assert lengths.expected_s("other", None) is None
