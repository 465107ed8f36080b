"""duckrow's own loop packs the workloads onto a GPU that is not there; beside it, the best of `xargs -P` by hand.

Only processes, the GPU and the clock are not real.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.packing.pace import KIND, STEP_S, Reality, Running, SharedGpu
from benchmarks.packing.shapes import Shape
from duckrow.core.clock import Now
from duckrow.core.devices.inventory import parse_gpus
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Needs
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import JobSpec
from duckrow.core.life.retry import Verdict
from duckrow.core.life.states import Outcome
from duckrow.core.memory.parameters import text_of
from duckrow.core.ports import CoreTime, Observer
from duckrow.devices.discover import Offer
from duckrow.engines.dry.behaviour import FOR_EVER
from duckrow.engines.dry.clock import HandClock
from duckrow.engines.dry.machine import DryMachine
from duckrow.engines.dry.turning import Turning
from duckrow.kernel.shared_folder import VARIABLE as GPU_LOCKS
from duckrow.scheduler.hosts.dry_host import DryHost
from duckrow.store.folder.state_folder import Folder

GPU = "0"
QUICK_DISK = "/dev/shm"
_LONGEST_S = 3600.0
_OUT_OF_MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {grows} MiB. GPU 0 has "
    "a total capacity of 139.80 GiB. "
    "Including non-PyTorch memory, this process has {held} MiB memory in use.\n"
)


class Played(NamedTuple):
    makespan_s: float
    retries: int
    most_attempts: int  # of one job


class Ends(Observer):
    def __init__(self, began: Now) -> None:
        self._began = began
        self.makespan_s = 0.0
        self.done = 0
        self.attempts: dict[int, int] = {}  # by job

    def ended(self, attempt: LiveAttempt, verdict: Verdict, at: float) -> None:
        self.attempts[attempt.job.id] = attempt.number
        if verdict.again:
            return
        if verdict.outcome is not Outcome.SUCCEEDED:
            raise SystemExit(f"Job {attempt.job.id} {verdict.outcome}: {verdict.detail}")
        self.done += 1
        self.makespan_s = at - self._began.wall


class Play:
    """One round of a workload by duckrow. What it has learned stays in the folder."""

    def __init__(
        self, folder: str, shapes: Sequence[Shape], gpu_mb: int, cores: int, seed: str, reality: Reality
    ) -> None:
        self._shapes = shapes
        self._clock = HandClock(Now(1.8e9, 1000.0, 1000.0))
        self._ends = Ends(self._clock.now())
        self._gpu = SharedGpu(gpu_mb, cores, Random(seed), reality)
        self._machine = DryMachine(lambda attempt: FOR_EVER, {GPU: gpu_mb})
        offer = Offer(parse_gpus(["all"], all_gpus=[GPU]), Machine({GPU: gpu_mb}, cpus=cores))
        self._host = DryHost(Folder(folder).make(), offer, self._machine, self._clock, observer=self._ends)
        self._runs: dict[int, Running] = {}  # by attempt
        self._machine.core_time = CoreTime(0.0, 0.0)
        self._cores = cores
        self._reported: dict[int, int] = {}  # by attempt: the last step

    def until_done(self) -> Played:
        turning = Turning(self._clock)
        turning.add(self._host.reactor, self._host.loop.turn)
        for number, shape in enumerate(self._shapes):
            self._host.loop.state.take_in(spec_of(shape, number))
        self._host.reactor.later(STEP_S, self._step)
        while self._ends.done < len(self._shapes) and turning.next_thing():
            if self._clock.now().mono > 1000.0 + _LONGEST_S:
                raise SystemExit(f"{len(self._shapes) - self._ends.done} runs have not ended within an hour.")
        self._host.close()
        attempts = self._ends.attempts.values()
        return Played(self._ends.makespan_s, sum(attempts) - len(attempts), max(attempts))

    def _step(self) -> None:
        now = self._clock.now()
        for attempt_id, process in self._machine.processes.items():
            if attempt_id not in self._runs and not process.is_gone(now.mono):
                self._runs[attempt_id] = self._gpu.begin(self._shape_of(attempt_id))
        self._runs = {id: run for id, run in self._runs.items() if not self._machine.processes[id].is_gone(now.mono)}
        before = {id: run.mb for id, run in self._runs.items()}
        ran_out = self._gpu.step(list(self._runs.values()))
        for id, run in list(self._runs.items()):
            process = self._machine.processes[id]
            process.behaviour = process.behaviour._replace(gpu_mb=((0.0, run.mb),))
            if run.dying_for_s is not None and run not in ran_out:
                continue
            self._report(id, run, now.wall)
            if run in ran_out:
                words = _OUT_OF_MEMORY.format(grows=run.wanted_mb() - before[id], held=before[id])
                process.behaviour = process.behaviour._replace(prints=words)
                self._end(id, 1)
            elif run.is_done:
                self._end(id, 0)
        self._machine.busy[GPU] = round(100 * self._gpu.busy)
        busy_s, all_s = self._machine.core_time or (0.0, 0.0)
        self._machine.core_time = CoreTime(busy_s + STEP_S * self._gpu.busy_cores, all_s + STEP_S * self._cores)
        self._host.reactor.later(STEP_S, self._step)

    def _report(self, id: int, run: Running, at: float) -> None:
        """Write the last step that it has made where real runs report theirs."""
        step = int(run.shape.reports_steps * min(run.trained_s / run.shape.train_s, 1.0))
        if step and step != self._reported.get(id):
            self._reported[id] = step
            folder = os.path.dirname(self._machine.processes[id].log)
            os.makedirs(folder, exist_ok=True)
            with open(f"{folder}/metrics.jsonl", "w", encoding="utf-8") as file:
                file.write(json.dumps({"_time": at, "step": step}) + "\n")

    def _shape_of(self, attempt_id: int) -> Shape:
        """Each round adds them to the same queue, in their order; they need not start in that order."""
        job_id = attempt_id // 1_000_000
        return self._shapes[(job_id - 1) % len(self._shapes)]

    def _end(self, attempt_id: int, code: int) -> None:
        self._machine.processes[attempt_id].end(self._clock.now().mono, code, None)
        self._host.engine.look(attempt_id)


def spec_of(shape: Shape, seed: int) -> JobSpec:
    """No two runs are called with the same words the first time; the seed says nothing about memory."""
    parameters = text_of({"size": str(shape.size), "seed": str(seed)})
    is_auto = shape.claims_mb is None
    needs = Needs(shape.claims_mb, auto=is_auto, recipe=f"/{shape.script}.py", parameters=parameters)
    return JobSpec(f"python {shape.script}.py {shape.size} {seed}", "/", name=shape.script, gpus=1, needs=needs)


def play_by_duckrow(
    shapes: Sequence[Shape], gpu_mb: int, cores: int, seed: str, rounds: int, reality: Reality = KIND
) -> list[Played]:
    """The first time, and each time again with what was learned before."""
    with TemporaryDirectory(dir=QUICK_DISK if os.path.isdir(QUICK_DISK) else None) as folder:
        os.environ[GPU_LOCKS] = f"{folder}/locks"  # nothing runs on the GPUs of this machine
        home = f"{folder}/home"
        seeds = [f"{seed} {turn}" for turn in range(rounds)]
        return [Play(home, shapes, gpu_mb, cores, each, reality).until_done() for each in seeds]


def play_by_hand(
    shapes: Sequence[Shape], at_a_time: int, gpu_mb: int, cores: int, reality: Reality = KIND
) -> float | None:
    """`xargs -P`: in their order, `at_a_time` together; None: one ran out of memory, and nobody tries it again."""
    gpu, waiting, running, now = SharedGpu(gpu_mb, cores, Random(0), reality), list(shapes), list[Running](), 0.0
    while waiting or running:
        while waiting and len(running) < at_a_time:
            running.append(gpu.begin(waiting.pop(0)))
        if gpu.step(running):
            return None
        now += STEP_S
        running = [run for run in running if not run.is_done]
    return now


def best_by_hand(shapes: Sequence[Shape], gpu_mb: int, cores: int, reality: Reality = KIND) -> tuple[float, int]:
    """(seconds, how many at a time): what an expert finds who tries every number, or about, where they are many."""
    numbers = sorted({*range(1, min(len(shapes), 24) + 1), min(len(shapes), 32)})
    tried = [(play_by_hand(shapes, number, gpu_mb, cores, reality), number) for number in numbers]
    return min((seconds, number) for seconds, number in tried if seconds is not None)
