"""The simulator stands on the loop: what is simulated is what runs."""

from __future__ import annotations

from benchmarks.placement import MAKESPAN_GOAL, WAIT_GOAL, figures, trace


def test_jobs_of_many_sizes_are_packed_as_well_as_the_benchmark_asks(monkeypatch: object) -> None:
    one_seed = figures(trace(0))
    assert one_seed.makespan <= MAKESPAN_GOAL
    assert one_seed.wait_ratio <= WAIT_GOAL
