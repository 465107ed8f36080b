"""A small language for tests of placement and of the tick: `expect(job(gpus=2)).on(gpus(4)).to_get("0,1")`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from duckrow.core.clock import Now
from duckrow.core.devices.device import reservations
from duckrow.core.devices.inventory import WHOLE, Ledger, Seat, book, cpu_seats, parse_gpus
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.schedule.decide import choose_starts

WAITS = None


def shares(of_devices: Mapping[str, int]) -> Ledger:
    """So much of each of these is booked, by one job."""
    booked = Ledger()
    book(of_devices.items(), booked)
    return booked


def taken(*devices: str) -> Ledger:
    """All of each of these is booked."""
    return shares(dict.fromkeys(devices, WHOLE))


def gpus(count: int, jobs_per_gpu: int = 1) -> list[Seat]:
    """`count` GPUs, each for one job at a time or for several."""
    return parse_gpus(["all"], jobs_per_gpu, [str(number) for number in range(count)])


def groups(*tokens: str) -> list[Seat]:
    """Seats as they are typed: `groups("0+1", "2")`."""
    return parse_gpus(tokens)


def cpus(count: int) -> list[Seat]:
    """CPU slots that somebody named, for any job that does not ask for a GPU."""
    return cpu_seats(count)


def side_cpus(count: int) -> list[Seat]:
    """The slots that the daemon has beside its GPUs, for jobs that ask for none."""
    return cpu_seats(count, side=True)


def job(gpus: int | None = None, **fields: Any) -> QueuedJob:
    """A job that waits; whatever is not said does not matter."""
    unimportant: dict[str, Any] = {
        "id": 1,
        "project": "default",
        "name": "train",
        "command": "python train.py",
        "cwd": "/",
        "environment_id": 1,
        "shell": "/bin/sh",
        "outfile": None,
        "max_log_bytes": None,
        "timeout_s": None,
        "notice_signal": 12,
        "notice_s": 30.0,
        "grace_s": 10.0,
        "retries": 0,
        "retries_used": 0,
        "backoff_s": 10.0,
        "attempts": 0,
    }
    return QueuedJob(gpus=gpus, **{**unimportant, **fields})


def attempt(
    of: QueuedJob | None = None, *, started_at: float = 1000.0, started_mono: float = 1000.0, **fields: Any
) -> LiveAttempt:
    """An attempt that began at 1000, by each clock, and holds GPU 0."""
    unimportant: dict[str, Any] = {
        "number": 1,
        "keeper": "k",
        "holds": [("0", 1_000_000)],
        "started": Now(started_at, started_mono, 1000.0),
        "log": "/nowhere.log",
        "job_host_id": 1,
    }
    values = {**unimportant, **fields}
    return LiveAttempt(job=of or job(), **{**values, "holds": reservations(values["holds"])})


class Expectation:
    """Jobs in their order in the queue, and the devices they meet."""

    def __init__(self, jobs: tuple[QueuedJob, ...]) -> None:
        self._jobs = [job._replace(id=number) for number, job in enumerate(jobs, start=1)]
        self._seats: list[Seat] = []
        self._booked = Ledger()

    def on(self, *seats: list[Seat], booked: Mapping[str, int] | None = None) -> Expectation:
        self._seats = [seat for some in seats for seat in some]
        self._booked = shares(booked or {})
        return self

    def to_get(self, *devices: str | None) -> None:
        """The devices of each job, in the order of the queue; WAITS for one that does not start."""
        starts = choose_starts(self._jobs, self._seats, Ledger(self._booked))
        where = {start.job.id: ",".join(device for device, _ in start.holds) for start in starts}
        got = [where.get(job.id) for job in self._jobs]
        assert got == list(devices), (
            f"jobs of {[job.gpus for job in self._jobs]} GPUs on {[seat.devices for seat in self._seats]} "
            f"with {self._booked} booked got {got}, not {list(devices)}"
        )


def expect(*jobs: QueuedJob) -> Expectation:
    return Expectation(jobs)
