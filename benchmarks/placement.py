"""How well are jobs of many sizes placed? A simulated day of 200 jobs on 8 GPUs, placed by duckrow's own loop.

Nothing runs: the engine is the dry one, the clock is virtual, and the same seeds give the same figures everywhere. How
long a job takes, nobody knows beforehand: there are no time limits.
"""

from __future__ import annotations

import heapq
import math
import os
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

from duckrow.core.clock import Now
from duckrow.core.devices.inventory import parse_gpus
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Needs
from duckrow.core.jobs.job import JobSpec, LiveAttempt
from duckrow.core.life.retry import Verdict
from duckrow.core.life.states import Outcome
from duckrow.core.ports import Observer
from duckrow.devices.discover import Offer
from duckrow.engines.dry.behaviour import Behaviour
from duckrow.engines.dry.clock import HandClock
from duckrow.engines.dry.machine import DryMachine
from duckrow.engines.dry.turning import Turning
from duckrow.kernel.shared_folder import VARIABLE as GPU_LOCKS
from duckrow.scheduler.hosts.dry_host import DryHost
from duckrow.store.folder.state_folder import Folder

SEEDS = range(20)
JOBS = 200
GPUS = [str(number) for number in range(8)]
GPU_MB = 80_000
GPUS_OF_A_JOB, WEIGHTS = [1, 2, 4, 8], [60, 20, 15, 5]
MEDIAN_S, SIGMA = 600.0, 1.0
QUICK_DISK = "/dev/shm"
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
    packed, exclusive = play_by_duckrow(tasks), play_first_in_first_out(tasks)
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


class Watcher(Observer):
    """Notes who has waited how long."""

    def __init__(self, tasks: Sequence[Task], began: Now) -> None:
        self._tasks = tasks
        self._began = began
        self.makespan_s = 0.0
        self.waits: list[float] = []
        self.done = 0

    def starting(self, attempt: LiveAttempt) -> None:
        self.waits.append(attempt.started.mono - self._began.mono - task_of(attempt, self._tasks).comes_at)

    def ended(self, attempt: LiveAttempt, verdict: Verdict, at: float) -> None:
        if verdict.outcome is not Outcome.SUCCEEDED:
            raise SystemExit(f"Job {attempt.job.id} {verdict.outcome}: {verdict.detail}")
        self.done += 1
        self.makespan_s = at - self._began.wall


def play_by_duckrow(tasks: Sequence[Task]) -> Played:
    """By the loop itself, with its database: only the processes and the clock are not real."""
    clock = HandClock(Now(1.8e9, 1000.0, 1000.0))
    watcher = Watcher(tasks, clock.now())
    machine = DryMachine(lambda attempt: Behaviour(runs_s=task_of(attempt, tasks).run_s))
    offer = Offer(parse_gpus(["all"], all_gpus=GPUS), Machine(dict.fromkeys(GPUS, GPU_MB)))
    with TemporaryDirectory(dir=QUICK_DISK if os.path.isdir(QUICK_DISK) else None) as folder:
        os.environ[GPU_LOCKS] = f"{folder}/locks"  # nothing runs on the GPUs of this machine
        host = DryHost(Folder(f"{folder}/home").make(), offer, machine, clock, observer=watcher)
        for number, task in enumerate(tasks):
            host.reactor.later(task.comes_at, partial(come, host, spec_of(number, task)))
        turning = Turning(clock)
        turning.add(host.reactor, host.loop.turn)
        while watcher.done < len(tasks) and turning.next_thing():
            pass
        host.close()
    if watcher.done < len(tasks):
        raise SystemExit(f"{len(tasks) - watcher.done} jobs never ended.")
    return Played(watcher.makespan_s, statistics.mean(watcher.waits))


def come(host: DryHost, spec: JobSpec) -> None:
    host.loop.state.take_in(spec)


def task_of(attempt: LiveAttempt, tasks: Sequence[Task]) -> Task:
    return tasks[int(attempt.job.command)]


def spec_of(number: int, task: Task) -> JobSpec:
    return JobSpec(str(number), "/", name=f"job-{number}", gpus=task.gpus, needs=Needs(gpu_mem_mb=task.memory_mb))


def play_first_in_first_out(tasks: Sequence[Task]) -> Played:
    """Each has its GPUs to itself, and nobody overtakes."""
    ends: list[tuple[float, int]] = []  # (when, how many GPUs are free from then on)
    waits, now, free = [], 0.0, len(GPUS)
    for task in sorted(tasks, key=lambda task: task.comes_at):
        now = max(now, task.comes_at)
        while (ends and ends[0][0] <= now) or free < task.gpus:
            end, gpus = heapq.heappop(ends)
            now, free = max(now, end), free + gpus
        free -= task.gpus
        heapq.heappush(ends, (now + task.run_s, task.gpus))
        waits.append(now - task.comes_at)
    return Played(max(end for end, _ in ends), statistics.mean(waits))


if __name__ == "__main__":
    main()
