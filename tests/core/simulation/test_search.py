"""The local search: whatever the trace, each job has its place in the schedule."""

from __future__ import annotations

from duckrow.core.simulation.search import play_in_order
from duckrow.core.simulation.trace_job import SimulatedGpus, TraceJob

GPU = SimulatedGpus(1, 80_000, "1x80G")


def test_a_job_that_comes_after_all_others_have_ended_starts_when_it_comes() -> None:
    spans = play_in_order([0, 1], [TraceJob(0, 1), TraceJob(100, 1)], GPU)
    assert [(span.start, span.end) for span in spans] == [(0, 1), (100, 101)]
