"""Lets a trace pass through the loop itself, with its database: only the processes and the clock are not real."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from duckrow.core.clock import Now
from duckrow.core.devices.inventory import parse_gpus
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import NO_NEEDS, Needs
from duckrow.core.errors import DuckrowError
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import JobSpec
from duckrow.core.life.retry import Verdict
from duckrow.core.ports import Observer
from duckrow.core.simulation.trace_job import JobSpan, SimulatedGpus, TraceJob
from duckrow.devices.discover import Offer
from duckrow.engines.dry.behaviour import Behaviour
from duckrow.engines.dry.clock import HandClock
from duckrow.engines.dry.machine import DryMachine
from duckrow.engines.dry.turning import Turning
from duckrow.scheduler.hosts.dry_host import DryHost
from duckrow.scheduler.simulation.scratch import scratch_folder

_BEGAN = Now(1.8e9, 1000.0, 1000.0)


class _Watcher(Observer):
    """Notes when and where each job ran. Jobs are named by their number in the trace."""

    def __init__(self, jobs: Sequence[TraceJob], clock: HandClock) -> None:
        self._jobs = jobs
        self._clock = clock
        self.spans: dict[int, JobSpan] = {}
        self.done = 0

    def starting(self, attempt: LiveAttempt) -> None:
        start = attempt.started.mono - _BEGAN.mono
        number = number_of(attempt)
        gpus = tuple(gpu.gpu_number or 0 for gpu in attempt.gpus)
        self.spans[number] = JobSpan(start, start + self._jobs[number].run_s, gpus)

    def ended(self, attempt: LiveAttempt, verdict: Verdict, at: float) -> None:
        self.done += 1


def number_of(attempt: LiveAttempt) -> int:
    return int(attempt.job.name.removeprefix("n"))


def play(jobs: Sequence[TraceJob], gpus: SimulatedGpus, learns: bool = True) -> list[JobSpan]:
    """When and where each job ran. Without `learns`, no two jobs are alike, so they start in the order they come in."""
    clock = HandClock(_BEGAN)
    watcher = _Watcher(jobs, clock)
    machine = DryMachine(lambda attempt: Behaviour(runs_s=jobs[number_of(attempt)].run_s))
    offer = Offer(parse_gpus(["all"], all_gpus=gpus.names), Machine(dict.fromkeys(gpus.names, gpus.memory_mb)))
    with scratch_folder() as folder:
        host = DryHost(folder, offer, machine, clock, observer=watcher)
        come: Callable[[JobSpec], None] = host.loop.state.take_in
        for number, job in enumerate(jobs):
            host.reactor.later(job.comes_at, partial(come, _spec(number, job, learns)))
        turning = Turning(clock)
        turning.add(host.reactor, host.loop.turn)
        while watcher.done < len(jobs) and turning.next_thing():
            pass
        host.close()
    if watcher.done < len(jobs):
        raise DuckrowError(f"{len(jobs) - watcher.done} jobs of the trace never ended. This is a bug in duckrow.")
    return [watcher.spans[number] for number in range(len(jobs))]


def _spec(number: int, job: TraceJob, learns: bool) -> JobSpec:
    needs = NO_NEEDS if job.memory_mb is None else Needs(gpu_mem_mb=job.memory_mb)
    command = job.command if learns else f"./unknown-{number}"
    return JobSpec(command, "/", name=f"n{number}", gpus=job.gpus, needs=needs)
