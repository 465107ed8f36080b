"""The simulator stands on the loop: what is simulated is what runs."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from benchmarks.packing.shapes import growing
from benchmarks.packing.simulated import play_by_duckrow
from benchmarks.placement import GPUS, MAKESPAN_GOAL, WAIT_GOAL, batch_of, waits

from duckrow.core.errors import UsageError
from duckrow.core.simulation.trace_job import TraceJob, check_fits
from duckrow.kernel.shared_folder import VARIABLE as GPU_LOCKS
from duckrow.scheduler.simulation.play import play

TWO = GPUS._replace(number=2, words="2x80000M")


@pytest.mark.no_cover  # thousands of ticks
def test_jobs_of_many_sizes_are_packed_as_well_as_the_benchmark_asks() -> None:
    one_seed = batch_of(0, search_s=0.0)
    assert one_seed.in_order.makespan_s / one_seed.bound_s <= MAKESPAN_GOAL
    assert one_seed.learned.makespan_s / one_seed.bound_s <= MAKESPAN_GOAL
    assert waits(one_seed.in_order, one_seed.exclusive) <= WAIT_GOAL


def test_jobs_are_where_the_loop_puts_them_and_the_locks_of_this_machine_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(GPU_LOCKS, str(tmp_path))
    jobs = [TraceJob(0.0, 100.0), TraceJob(0.0, 50.0), TraceJob(0.0, 10.0), TraceJob(200.0, 5.0, gpus=2)]
    spans = play(jobs, TWO)
    assert [(round(span.start), round(span.end)) for span in spans] == [(0, 100), (0, 50), (50, 60), (200, 205)]
    assert [span.gpus for span in spans] == [(0,), (1,), (1,), (0, 1)]
    assert os.environ[GPU_LOCKS] == str(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_job_that_could_never_run_there_is_refused() -> None:
    for job in (TraceJob(0.0, 1.0, gpus=3), TraceJob(0.0, 1.0, memory_mb=90_000)):
        with pytest.raises(UsageError, match=r"A job of the trace .* needs"):
            check_fits([job], TWO)


@pytest.mark.no_cover  # thousands of ticks
def test_trainings_that_grow_run_out_of_memory_only_before_they_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They start in another order the second time, and each takes what it took before."""
    monkeypatch.setenv(GPU_LOCKS, str(tmp_path))  # restored afterwards
    random = Random("1 growing 15")
    first, known = play_by_duckrow(growing(random, 143_000), 143_000, cores=16, seed="1", rounds=2)
    assert first.retries > 0
    assert known.retries == 0
    assert known.makespan_s < first.makespan_s
