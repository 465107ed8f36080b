"""How well a schedule did, and what a search finds."""

from __future__ import annotations

from itertools import count

import pytest

from duckrow.core.simulation.figures import figures, lower_bound_s
from duckrow.core.simulation.search import play_in_order, search
from duckrow.core.simulation.trace_job import JobSpan, SimulatedGpus, TraceJob

TWO = SimulatedGpus(2, 1000, "2x1000M")


def test_figures_of_a_schedule() -> None:
    jobs = [TraceJob(0.0, 10.0), TraceJob(5.0, 10.0), TraceJob(5.0, 5.0, 1, 500)]
    spans = [JobSpan(0.0, 10.0, (0,)), JobSpan(10.0, 20.0, (0,)), JobSpan(15.0, 20.0, (1,))]
    told = figures(jobs, spans, TWO)
    assert (told.makespan_s, told.wait_mean_s, told.wait_median_s, told.wait_max_s) == (20.0, 5.0, 5.0, 10.0)
    assert told.utilisation == pytest.approx(25 / 40)


def test_the_bound_counts_memory_gpus_that_two_cannot_share_and_the_last_to_come() -> None:
    assert lower_bound_s([TraceJob(0.0, 10.0, 1, 250)] * 8, TWO) == 10.0
    assert lower_bound_s([TraceJob(0.0, 10.0, 1, 600)] * 8, TWO) == 40.0
    assert lower_bound_s([TraceJob(100.0, 10.0), TraceJob(0.0, 1.0)], TWO) == 110.0


def test_jobs_start_in_the_given_order_when_they_have_come_and_fit() -> None:
    jobs = [TraceJob(0.0, 10.0, 2), TraceJob(0.0, 4.0), TraceJob(3.0, 4.0)]
    assert [span.start for span in play_in_order([0, 1, 2], jobs, TWO)] == [0.0, 10.0, 10.0]
    assert [span.start for span in play_in_order([2, 1, 0], jobs, TWO)] == [7.0, 0.0, 3.0]


def test_a_search_finds_what_no_order_by_length_gives() -> None:
    jobs = [TraceJob(0.0, seconds) for seconds in (7.0, 7.0, 6.0, 6.0, 5.0, 5.0, 4.0, 4.0, 4.0)]
    three = SimulatedGpus(3, 1000, "3x1000M")
    steps = count()
    found = search(jobs, three, lambda: next(steps) < 400)
    assert max(span.end for span in found) == 16.0
    assert lower_bound_s(jobs, three) == 16.0
