"""How well are jobs of many sizes placed? A simulated day of 200 jobs on 8 GPUs, decided by duckrow's own rules.

Nothing runs: the clock is virtual, and the same seeds give the same figures everywhere. How long a job takes, nobody
knows beforehand: there are no time limits.
"""

from __future__ import annotations

import heapq
import math
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from duckrow.core.clock import Now
from duckrow.core.decide import Start, decide
from duckrow.core.inventory import WHOLE, Ledger, book, parse_gpus, unbook
from duckrow.core.job import LiveAttempt, QueuedJob
from duckrow.core.machine import Machine
from duckrow.core.needs import Needs
from duckrow.scheduler.queue_head import HEAD

SEEDS = range(20)
JOBS = 200
GPUS = [str(number) for number in range(8)]
GPU_MB = 80_000
GPUS_OF_A_JOB, WEIGHTS = [1, 2, 4, 8], [60, 20, 15, 5]
MEDIAN_S, SIGMA = 600.0, 1.0
LOAD = 0.8  # of the GPUs' time, if each job had its GPUs to itself

MAKESPAN_GOAL = 1.3  # times the lower bound
WAIT_GOAL = 0.7  # of exclusive first-in-first-out


class Task(NamedTuple):
    gpus: int
    memory_mb: int  # on each of them
    run_s: float
    comes_at: float


class Played(NamedTuple):
    """How a trace went."""

    makespan_s: float
    mean_wait_s: float


class Figures(NamedTuple):
    """Of one seed."""

    makespan: float  # times the lower bound
    exclusive_makespan: float
    wait_min: float
    exclusive_wait_min: float
    wait_ratio: float


def main() -> None:
    batch = [figures(trace(seed)) for seed in SEEDS]
    stream = [figures(arriving(trace(seed), seed)) for seed in SEEDS]
    print(f"\n{JOBS} jobs of 1 to 8 GPUs and 10 to 100 % of their memory on 8 GPUs, {len(SEEDS)} seeds")
    show("all at once", batch)
    show(f"one after the other, at {LOAD:.0%} load", stream)
    missed = list(misses(batch, stream))
    for line in missed:
        print(f"  MISSED: {line}")
    if missed:
        sys.exit(1)


def misses(batch: Sequence[Figures], stream: Sequence[Figures]) -> Iterator[str]:
    makespan = statistics.median(each.makespan for each in batch)
    if makespan > MAKESPAN_GOAL:
        yield f"makespan of {makespan:.2f} x the lower bound, the goal is {MAKESPAN_GOAL}"
    for how, some in (("all at once", batch), ("one after the other", stream)):
        ratio = statistics.median(each.wait_ratio for each in some)
        if ratio > WAIT_GOAL:
            yield f"{how}: waiting {ratio:.2f} x that of exclusive first-in-first-out, the goal is {WAIT_GOAL}"


def show(title: str, some: Sequence[Figures]) -> None:
    print(f"  {title:<46} {'median':>8} {'worst':>8}")
    rows: list[tuple[str, str, Callable[[Figures], float]]] = [
        ("makespan / lower bound", "x", lambda each: each.makespan),
        ("  exclusive first-in-first-out", "x", lambda each: each.exclusive_makespan),
        ("mean wait", "min", lambda each: each.wait_min),
        ("  exclusive first-in-first-out", "min", lambda each: each.exclusive_wait_min),
        ("  ratio", "x", lambda each: each.wait_ratio),
    ]
    for name, unit, of in rows:
        values = [of(each) for each in some]
        digits = 0 if unit == "min" else 2
        print(f"    {name:<44} {statistics.median(values):8.{digits}f} {max(values):8.{digits}f} {unit}", flush=True)
    within = sum(each.makespan <= MAKESPAN_GOAL for each in some)
    print(f"    within {MAKESPAN_GOAL} x of the lower bound: {within} of {len(some)}")


def figures(tasks: Sequence[Task]) -> Figures:
    packed, exclusive = play(tasks, in_order_of_duckrow), play(tasks, first_in_first_out)
    bound_s = lower_bound_s(tasks)
    return Figures(
        packed.makespan_s / bound_s,
        exclusive.makespan_s / bound_s,
        packed.mean_wait_s / 60,
        exclusive.mean_wait_s / 60,
        packed.mean_wait_s / exclusive.mean_wait_s,
    )


# -- the trace ------------------------------------------------------------------------------------------------------


def trace(seed: int) -> list[Task]:
    """All at once."""
    random = Random(seed)
    return [
        Task(
            gpus=random.choices(GPUS_OF_A_JOB, WEIGHTS)[0],
            memory_mb=int(random.uniform(0.1, 1.0) * GPU_MB),
            run_s=random.lognormvariate(math.log(MEDIAN_S), SIGMA),
            comes_at=0.0,
        )
        for _ in range(JOBS)
    ]


def arriving(tasks: Sequence[Task], seed: int) -> list[Task]:
    """The same jobs, one after the other at random times (a Poisson process)."""
    random = Random(f"arrivals of {seed}")
    work_s = sum(task.gpus * task.run_s for task in tasks)
    gap_s = work_s / (len(tasks) * len(GPUS) * LOAD)
    now, came = 0.0, []
    for task in tasks:
        came.append(task._replace(comes_at=now))
        now += random.expovariate(1 / gap_s)
    return came


def lower_bound_s(tasks: Sequence[Task]) -> float:
    """No order and no placement ends sooner: memory times time, GPUs that two cannot share, and the longest job."""
    area = sum(task.gpus * task.run_s * task.memory_mb / GPU_MB for task in tasks) / len(GPUS)
    over_half = sum(task.gpus * task.run_s for task in tasks if task.memory_mb * 2 > GPU_MB) / len(GPUS)
    last = max(task.comes_at + task.run_s for task in tasks)  # the longest job, where all come at once
    return max(area, over_half, last)


# -- the play -------------------------------------------------------------------------------------------------------


class Table:
    """Who waits and who runs, at a moment of the play."""

    def __init__(self) -> None:
        self.seats = parse_gpus(["all"], all_gpus=GPUS)
        self.machine = Machine(dict.fromkeys(GPUS, GPU_MB))
        self.booked = Ledger()
        self.queue: list[QueuedJob] = []
        self.live: dict[int, LiveAttempt] = {}


Order = Callable[[float, Table], Sequence[Start]]


def in_order_of_duckrow(now: float, table: Table) -> Sequence[Start]:
    live = table.live.values()
    return decide(now, live, table.queue[:HEAD], table.seats, table.booked, None, table.machine).starts


def first_in_first_out(now: float, table: Table) -> list[Start]:
    """Each has its GPUs to itself, and nobody overtakes."""
    starts, booked = [], dict(table.booked)
    for job in table.queue:
        free = [gpu for gpu in GPUS if not booked.get(gpu)]
        if len(free) < (job.gpus or 1):
            break
        holds = tuple((gpu, WHOLE) for gpu in free[: job.gpus])
        booked.update(holds)
        starts.append(Start(job, holds))
    return starts


def play(tasks: Sequence[Task], order: Order) -> Played:
    table = Table()
    coming, ends = [(task.comes_at, number) for number, task in enumerate(tasks)], list[tuple[float, int]]()
    heapq.heapify(coming)
    waits, now = [], 0.0
    while coming or ends:
        now = min(some[0][0] for some in (coming, ends) if some)
        while ends and ends[0][0] <= now:
            unbook(table.live.pop(heapq.heappop(ends)[1]).holds, table.booked)
        while coming and coming[0][0] <= now:
            _, number = heapq.heappop(coming)
            table.queue.append(job_of(number, tasks[number]))
        starts = order(now, table)
        for job, holds in starts:
            book(holds, table.booked)
            table.live[job.id] = LiveAttempt(1, job, "", holds, Now(now, now, now), "", 1)
            heapq.heappush(ends, (now + tasks[job.id].run_s, job.id))
            waits.append(now - tasks[job.id].comes_at)
        started = {start.job.id for start in starts}
        table.queue = [job for job in table.queue if job.id not in started]
    if table.queue:
        raise SystemExit(f"{len(table.queue)} jobs never started.")
    return Played(now, statistics.mean(waits))


def job_of(number: int, task: Task) -> QueuedJob:
    return QueuedJob(
        id=number,
        project="bench",
        name=f"job-{number}",
        command="true",
        cwd="/",
        environment_id=1,
        shell="/bin/sh",
        gpus=task.gpus,
        outfile=None,
        max_log_bytes=None,
        timeout_s=None,
        notice_signal=None,
        notice_s=0.0,
        grace_s=10.0,
        retries=0,
        retries_used=0,
        backoff_s=10.0,
        attempts=0,
        needs=Needs(gpu_mem_mb=task.memory_mb).as_text(),
        created_at=task.comes_at,
    )


if __name__ == "__main__":
    main()
