"""The language for placement by memory: `expect(job(mem="10G")).on(gpus("24G", "24G")).to_get("0")`."""

from __future__ import annotations

from collections.abc import Mapping

from duckrow.core.devices.inventory import WHOLE, Ledger, Seat, parse_gpus
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Needs
from duckrow.core.devices.policy import Policy
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.schedule.decide import CORES, MEMORY, choose_starts
from duckrow.core.units import parse_size_mb
from tests.core import language
from tests.core.language import WAITS

__all__ = ["WAITS", "Stage", "expect", "gpus", "job", "machine_of"]


class Stage:
    """GPUs with their memory, and what is known of it."""

    def __init__(self, sizes: tuple[str, ...], jobs_per_gpu: int = 1) -> None:
        names = [str(number) for number in range(len(sizes))]
        self.seats: list[Seat] = parse_gpus(["all"], jobs_per_gpu, names) if names else []
        self.total_mb = dict(zip(names, map(parse_size_mb, sizes), strict=True))


def gpus(*sizes: str, jobs_per_gpu: int = 1) -> Stage:
    return Stage(sizes, jobs_per_gpu)


def job(
    mem: str | None = None,
    gpus: int | None = None,
    *,
    total: str | None = None,
    auto: bool = False,
    alone: bool = False,
    larger_than: str | None = None,
    cores: int | None = None,
    host_mem: str | None = None,
    timeout_s: float | None = None,
) -> QueuedJob:
    """A job that waits, by what it asks for."""
    needs = Needs(
        gpu_mem_mb=None if mem is None else parse_size_mb(mem),
        total_gpu_mem_mb=None if total is None else parse_size_mb(total),
        auto=auto,
        alone=alone,
        larger_than_mb=0 if larger_than is None else parse_size_mb(larger_than),
        cpus=cores,
        mem_mb=None if host_mem is None else parse_size_mb(host_mem),
    )
    return language.job(gpus, needs=needs.as_text(), timeout_s=timeout_s)


def machine_of(
    stage: Stage,
    used: Mapping[str, str] | None = None,
    policy: Policy | None = None,
    cpus: int | None = None,
    mem: str | None = None,
) -> Machine:
    """`used`: what others take of a GPU."""
    others = {gpu: parse_size_mb(size) for gpu, size in (used or {}).items()}
    return Machine(
        total_mb=stage.total_mb,
        pressure={gpu: -(-mb * WHOLE // stage.total_mb[gpu]) for gpu, mb in others.items()},
        foreign_mb=others,
        policy=policy or Policy(),
        cpus=cpus,
        mem_mb=None if mem is None else parse_size_mb(mem),
    )


class Expectation:
    """Jobs in their order in the queue, and the GPUs they meet."""

    def __init__(self, jobs: tuple[QueuedJob, ...]) -> None:
        self._jobs = [job._replace(id=number) for number, job in enumerate(jobs, start=1)]
        self._seats: list[Seat] = []
        self._booked = Ledger()
        self._machine = Machine()

    def on(
        self,
        stage: Stage,
        *more_seats: list[Seat],
        booked: Mapping[str, str] | None = None,
        used: Mapping[str, str] | None = None,
        policy: Policy | None = None,
        cpus: int | None = None,
        mem: str | None = None,
    ) -> Expectation:
        """`booked`: what one job of ours has reserved on a GPU. `used`: what others take."""
        self._seats = [*stage.seats, *(seat for some in more_seats for seat in some)]
        self._machine = machine_of(stage, used, policy, cpus, mem)
        for gpu, size in (booked or {}).items():
            self._booked[gpu] = self._machine.share_of(gpu, parse_size_mb(size))
            self._booked.jobs[gpu] = 1
        return self

    def to_get(self, *devices: str | None) -> None:
        """The devices of each job, in the order of the queue; WAITS for one that does not start."""
        room = {CORES: self._machine.cpus, MEMORY: self._machine.mem_mb}
        known = {scope: amount for scope, amount in room.items() if amount is not None}
        starts = choose_starts(self._jobs, self._seats, Ledger(self._booked), known, None, self._machine)
        where = {start.job.id: ",".join(device for device, _ in start.holds) for start in starts}
        got = [where.get(job.id) for job in self._jobs]
        assert got == list(devices), (
            f"jobs that ask for {[job.needs for job in self._jobs]} on {dict(self._machine.total_mb)} with "
            f"{dict(self._booked)} booked and {dict(self._machine.foreign_mb)} used got {got}, not {list(devices)}"
        )


def expect(*jobs: QueuedJob) -> Expectation:
    return Expectation(jobs)
