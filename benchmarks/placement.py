"""How well are jobs of many sizes placed? A simulated day of 200 jobs on 8 GPUs, placed by duckrow's own loop.

Nothing runs: the engine is the dry one, the clock is virtual, and the same seeds give the same figures everywhere. Run
times are not known beforehand, or only from earlier jobs of the same script, whose parameter tells them within 30 %.
"""

from __future__ import annotations

import heapq
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from duckrow.core.simulation.figures import Figures, figures, lower_bound_s
from duckrow.core.simulation.search import search
from duckrow.core.simulation.trace_job import SimulatedGpus, TraceJob
from duckrow.scheduler.simulation.play import play

SEEDS = range(20)
JOBS, EARLIER_JOBS = 200, 96
GPUS = SimulatedGpus(8, 80_000, "8x80000M")
GPUS_OF_A_JOB, WEIGHTS = [1, 2, 4, 8], [60, 20, 15, 5]
MEDIAN_S, SIGMA = 600.0, 1.0
NOISE = 0.3  # of the run times, as a share: what the parameters do not tell
LOAD = 0.8  # of the GPUs' time, if each job had its GPUs to itself
SEARCH_S = 10.0

MAKESPAN_GOAL = 1.3  # times the lower bound
WAIT_GOAL = 0.7  # of exclusive first-in-first-out
SEARCH_GOAL = 1.05  # times the makespan of the best schedule that a search finds
LEARNED_WAIT_GOAL = 1.0  # of the order in which they come
LEARNED_STREAM_GOAL = 0.8  # the same, if they come one after the other


class Batch(NamedTuple):
    """Of one seed, all at once."""

    bound_s: float
    in_order: Figures
    learned: Figures
    searched_s: float
    exclusive: Exclusive


class Exclusive(NamedTuple):
    makespan_s: float
    mean_wait_s: float


class Stream(NamedTuple):
    """Of one seed, one after the other."""

    bound_s: float
    packed: Figures
    learned: Figures
    exclusive: Exclusive


def main() -> None:
    batches = [batch_of(seed) for seed in SEEDS]
    streams = [stream_of(seed) for seed in SEEDS]
    print(f"\n{JOBS} jobs of 1 to 8 GPUs and 10 to 100 % of their memory on 8 GPUs, {len(SEEDS)} seeds")
    show("all at once", BATCH_ROWS, batches)
    show(
        f"{JOBS // 2} that have one GPU each to themselves, all at once",
        BATCH_ROWS,
        [singles_of(seed) for seed in SEEDS],
    )
    show(f"one after the other, at {LOAD:.0%} load", STREAM_ROWS, streams)
    missed = list(misses(batches, streams))
    for line in missed:
        print(f"  MISSED: {line}")
    if missed:
        sys.exit(1)


BATCH_ROWS: list[tuple[str, Callable[[Batch], float]]] = [
    ("makespan / bound: in the order in which they come", lambda each: each.in_order.makespan_s / each.bound_s),
    ("  run times learned", lambda each: each.learned.makespan_s / each.bound_s),
    ("  search with exact times", lambda each: each.searched_s / each.bound_s),
    ("  exclusive first-in-first-out", lambda each: each.exclusive.makespan_s / each.bound_s),
    ("learned / search: makespan", lambda each: each.learned.makespan_s / each.searched_s),
    ("in order / search: makespan", lambda each: each.in_order.makespan_s / each.searched_s),
    ("learned / in order: makespan", lambda each: each.learned.makespan_s / each.in_order.makespan_s),
    ("  mean wait", lambda each: each.learned.wait_mean_s / each.in_order.wait_mean_s),
    ("  median wait", lambda each: each.learned.wait_median_s / each.in_order.wait_median_s),
    ("  95 % of waits", lambda each: each.learned.wait_p95_s / each.in_order.wait_p95_s),
    ("  longest wait", lambda each: each.learned.wait_max_s / each.in_order.wait_max_s),
    ("in order / exclusive first-in-first-out: mean wait", lambda each: waits(each.in_order, each.exclusive)),
]
STREAM_ROWS: list[tuple[str, Callable[[Stream], float]]] = [
    ("makespan / bound", lambda each: each.packed.makespan_s / each.bound_s),
    ("mean wait / exclusive first-in-first-out", lambda each: waits(each.packed, each.exclusive)),
    ("  run times learned", lambda each: waits(each.learned, each.exclusive)),
    ("learned / in order: makespan", lambda each: each.learned.makespan_s / each.packed.makespan_s),
    ("  mean wait", lambda each: each.learned.wait_mean_s / each.packed.wait_mean_s),
    ("  95 % of waits", lambda each: each.learned.wait_p95_s / each.packed.wait_p95_s),
    ("  longest wait", lambda each: each.learned.wait_max_s / each.packed.wait_max_s),
]


def waits(some: Figures, exclusive: Exclusive) -> float:
    return some.wait_mean_s / exclusive.mean_wait_s


def misses(batches: Sequence[Batch], streams: Sequence[Stream]) -> Iterator[str]:
    of_bound = statistics.median(each.in_order.makespan_s / each.bound_s for each in batches)
    if of_bound > MAKESPAN_GOAL:
        yield f"makespan of {of_bound:.2f} x the lower bound, the goal is {MAKESPAN_GOAL}"
    of_search = statistics.median(each.learned.makespan_s / each.searched_s for each in batches)
    if of_search > SEARCH_GOAL:
        yield f"learned: makespan of {of_search:.3f} x what a search finds, the goal is {SEARCH_GOAL}"
    wait = statistics.median(each.learned.wait_mean_s / each.in_order.wait_mean_s for each in batches)
    if wait > LEARNED_WAIT_GOAL:
        yield f"learned: waiting {wait:.2f} x as long as in order, the goal is {LEARNED_WAIT_GOAL}"
    learned = statistics.median(each.learned.wait_mean_s / each.packed.wait_mean_s for each in streams)
    if learned > LEARNED_STREAM_GOAL:
        yield f"learned, one after the other: waiting {learned:.2f} x as long as in order, not {LEARNED_STREAM_GOAL}"
    ratios = {
        "all at once": [waits(each.in_order, each.exclusive) for each in batches],
        "one after the other": [waits(each.packed, each.exclusive) for each in streams],
    }
    for how, ratio in ratios.items():
        if statistics.median(ratio) > WAIT_GOAL:
            yield f"{how}: waiting {statistics.median(ratio):.2f} x exclusive first-in-first-out, not {WAIT_GOAL}"


def show(title: str, rows: Sequence[tuple[str, Callable[..., float]]], some: Sequence[object]) -> None:
    print(f"  {title:<56} {'median':>8} {'worst':>8}")
    for name, of in rows:
        values = [of(each) for each in some]
        print(f"    {name:<54} {statistics.median(values):8.3f} {max(values):8.3f}", flush=True)


def batch_of(seed: int, search_s: float = SEARCH_S) -> Batch:
    return _batch(trace(seed), _earlier(seed), search_s)


def singles_of(seed: int) -> Batch:
    """Half as many jobs, each with one GPU to itself."""
    return _batch(_alone(trace(seed, JOBS // 2)), _alone(_earlier(seed)), SEARCH_S)


def _earlier(seed: int) -> list[TraceJob]:
    return trace(f"earlier jobs of {seed}", EARLIER_JOBS)


def _alone(jobs: Sequence[TraceJob]) -> list[TraceJob]:
    return [job._replace(gpus=1, memory_mb=None) for job in jobs]


def _batch(jobs: Sequence[TraceJob], earlier: Sequence[TraceJob], search_s: float) -> Batch:
    end = time.monotonic() + search_s
    searched = search(jobs, GPUS, lambda: time.monotonic() < end)
    return Batch(
        lower_bound_s(jobs, GPUS),
        figures(jobs, play(jobs, GPUS, learns=False), GPUS),
        after_earlier_jobs(jobs, earlier),
        max(span.end for span in searched),
        play_first_in_first_out(jobs),
    )


def after_earlier_jobs(jobs: Sequence[TraceJob], earlier: Sequence[TraceJob]) -> Figures:
    """Similar jobs have run before, and all of them have ended."""
    began = sum(job.run_s for job in earlier)
    spans = play([*earlier, *(job._replace(comes_at=began + job.comes_at) for job in jobs)], GPUS)[len(earlier) :]
    return figures(jobs, [span._replace(start=span.start - began, end=span.end - began) for span in spans], GPUS)


def stream_of(seed: int) -> Stream:
    jobs = arriving(trace(seed), seed)
    packed = figures(jobs, play(jobs, GPUS, learns=False), GPUS)
    learned = after_earlier_jobs(jobs, _earlier(seed))
    return Stream(lower_bound_s(jobs, GPUS), packed, learned, play_first_in_first_out(jobs))


# -- the trace ------------------------------------------------------------------------------------------------------


def trace(seed: int | str, count: int = JOBS) -> list[TraceJob]:
    """All at once."""
    random = Random(seed)
    return [_job(random, number) for number in range(count)]


def _job(random: Random, number: int) -> TraceJob:
    size = random.lognormvariate(0, math.sqrt(SIGMA**2 - NOISE**2))
    return TraceJob(
        comes_at=0.0,
        run_s=MEDIAN_S * size * random.lognormvariate(0, NOISE),
        gpus=random.choices(GPUS_OF_A_JOB, WEIGHTS)[0],
        memory_mb=int(random.uniform(0.1, 1.0) * GPUS.memory_mb),
        command=f"python train.py --size {size:.4g} --seed {number}",
    )


def arriving(jobs: Sequence[TraceJob], seed: int) -> list[TraceJob]:
    """The same jobs, one after the other at random times (a Poisson process)."""
    random = Random(f"arrivals of {seed}")
    work_s = sum(job.gpus * job.run_s for job in jobs)
    gap_s = work_s / (len(jobs) * GPUS.number * LOAD)
    now, came = 0.0, []
    for job in jobs:
        came.append(job._replace(comes_at=now))
        now += random.expovariate(1 / gap_s)
    return came


def play_first_in_first_out(jobs: Sequence[TraceJob]) -> Exclusive:
    """Each has its GPUs to itself, and nobody overtakes."""
    ends: list[tuple[float, int]] = []  # (when, how many GPUs are free from then on)
    waited, now, free = [], 0.0, GPUS.number
    for job in sorted(jobs, key=lambda job: job.comes_at):
        now = max(now, job.comes_at)
        while (ends and ends[0][0] <= now) or free < job.gpus:
            end, gpus = heapq.heappop(ends)
            now, free = max(now, end), free + gpus
        free -= job.gpus
        heapq.heappush(ends, (now + job.run_s, job.gpus))
        waited.append(now - job.comes_at)
    return Exclusive(max(end for end, _ in ends), statistics.mean(waited))


if __name__ == "__main__":
    main()
