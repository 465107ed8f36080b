"""The simulator stands on the loop: what is simulated is what runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.placement import MAKESPAN_GOAL, WAIT_GOAL, figures, trace

from duckrow.kernel.shared_folder import VARIABLE as GPU_LOCKS


def test_jobs_of_many_sizes_are_packed_as_well_as_the_benchmark_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(GPU_LOCKS, str(tmp_path))  # the simulator sets it too
    one_seed = figures(trace(0))
    assert one_seed.makespan <= MAKESPAN_GOAL
    assert one_seed.wait_ratio <= WAIT_GOAL
