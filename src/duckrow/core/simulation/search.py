"""The best schedule that a local search finds if it knows exactly how long each job runs: an oracle to compare with."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from random import Random

from duckrow.core.simulation.trace_job import JobSpan, SimulatedGpus, TraceJob

_WARM, _COOLING = 0.01, 0.9995  # how much longer a schedule may be that is tried at first; how quickly that shrinks


def search(jobs: Sequence[TraceJob], gpus: SimulatedGpus, goes_on: Callable[[], bool]) -> list[JobSpan]:
    """`goes_on`: whether there is still time. The same number of steps gives the same schedule."""
    random = Random(1)
    order = sorted(range(len(jobs)), key=lambda number: -_size(jobs[number], gpus))
    best = spans = play_in_order(order, jobs, gpus)
    best_s = now_s = _makespan_s(spans)
    warmth = _WARM * best_s
    while goes_on():
        tried = _changed(order, random)
        spans = play_in_order(tried, jobs, gpus)
        tried_s = _makespan_s(spans)
        if tried_s <= now_s or random.random() < math.exp((now_s - tried_s) / warmth):
            order, now_s = tried, tried_s
            if tried_s < best_s:
                best, best_s = spans, tried_s
        warmth = max(warmth * _COOLING, 1e-9)
    return best


def play_in_order(order: Sequence[int], jobs: Sequence[TraceJob], gpus: SimulatedGpus) -> list[JobSpan]:
    """Whenever something ends or comes, each that fits starts, in this order."""
    free = [gpus.memory_mb] * gpus.number
    spans: list[JobSpan | None] = [None] * len(jobs)
    ends: list[tuple[float, int]] = []
    comes = sorted({job.comes_at for job in jobs}, reverse=True)
    waiting, now = list(order), 0.0
    while waiting:
        waiting = _start(waiting, jobs, gpus, free, spans, ends, now)
        while comes and comes[-1] <= now:
            comes.pop()
        due = [end for end, _ in ends[:1]] + comes[-1:]
        if not waiting or not due:
            break
        now = min(due)
        while ends and ends[0][0] <= now:
            number = heapq.heappop(ends)[1]
            for gpu in (spans[number] or JobSpan(0, 0, ())).gpus:
                free[gpu] += _mb(jobs[number], gpus)
    return [span for span in spans if span is not None]


def _start(
    waiting: Sequence[int],
    jobs: Sequence[TraceJob],
    gpus: SimulatedGpus,
    free: list[int],
    spans: list[JobSpan | None],
    ends: list[tuple[float, int]],
    now: float,
) -> list[int]:
    left: list[int] = []
    in_vain: dict[int, int] = {}
    for number in waiting:
        job = jobs[number]
        mb = _mb(job, gpus)
        if job.comes_at > now or any(count <= job.gpus and least <= mb for count, least in in_vain.items()):
            left.append(number)
            continue
        fitting = [(space, gpu) for gpu, space in enumerate(free) if space >= mb]
        if len(fitting) < job.gpus:
            left.append(number)
            in_vain[job.gpus] = mb
            continue
        fitting.sort()
        chosen = tuple(gpu for _, gpu in fitting[: job.gpus])
        for gpu in chosen:
            free[gpu] -= mb
        spans[number] = JobSpan(now, now + job.run_s, chosen)
        heapq.heappush(ends, (now + job.run_s, number))
    return left


def _mb(job: TraceJob, gpus: SimulatedGpus) -> int:
    return gpus.memory_mb if job.memory_mb is None else job.memory_mb


def _size(job: TraceJob, gpus: SimulatedGpus) -> float:
    return job.run_s * math.sqrt(job.gpus * job.share(gpus.memory_mb))


def _makespan_s(spans: Sequence[JobSpan]) -> float:
    return max(span.end for span in spans)


def _changed(order: Sequence[int], random: Random) -> list[int]:
    """Two change places, or one goes elsewhere."""
    changed = list(order)
    one, other = random.randrange(len(changed)), random.randrange(len(changed))
    if random.random() < 0.5:
        changed[one], changed[other] = changed[other], changed[one]
    else:
        changed.insert(other, changed.pop(one))
    return changed
