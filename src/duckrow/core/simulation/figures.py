"""How well a schedule did: makespan, waits, utilisation, and the least that any schedule takes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from duckrow.core.named_tuple import NamedTuple
from duckrow.core.simulation.trace_job import JobSpans, SimulatedGpus, TraceJob


class Figures(NamedTuple):
    makespan_s: float
    wait_mean_s: float
    wait_median_s: float
    wait_p95_s: float
    wait_max_s: float
    utilisation: float  # of the GPUs' time: in use by at least one job


def figures(jobs: Sequence[TraceJob], spans: JobSpans, gpus: SimulatedGpus) -> Figures:
    waits = sorted(span.start - job.comes_at for job, span in zip(jobs, spans, strict=True))
    makespan_s = max(span.end for span in spans)
    busy_s = sum(_covered_s([span for span in spans if gpu in span.gpus]) for gpu in range(gpus.number))
    return Figures(
        makespan_s,
        math.fsum(waits) / len(waits),
        waits[len(waits) // 2],
        waits[min(int(0.95 * len(waits)), len(waits) - 1)],
        waits[-1],
        busy_s / (gpus.number * makespan_s) if makespan_s else 0.0,
    )


def lower_bound_s(jobs: Sequence[TraceJob], gpus: SimulatedGpus) -> float:
    """No order and no placement ends sooner: memory times time, GPUs that two cannot share, and the last to come."""
    area = sum(job.gpus * job.run_s * job.share(gpus.memory_mb) for job in jobs) / gpus.number
    over_half = sum(job.gpus * job.run_s for job in jobs if job.share(gpus.memory_mb) > 0.5) / gpus.number
    return max(area, over_half, max(job.comes_at + job.run_s for job in jobs))


def _covered_s(spans: JobSpans) -> float:
    covered = until = 0.0
    for span in sorted(spans):
        covered += max(span.end - max(span.start, until), 0.0)
        until = max(until, span.end)
    return covered
