"""What jobs mean to a forecast: how long they run, on how many devices, with which share of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from duckrow.core.devices.inventory import WHOLE, Seat
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import is_packed
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.schedule.decide import AskOf
from duckrow.core.schedule.forecast import BusyDevices, ExpectedLoad
from duckrow.core.schedule.run_times import ExpectedTime, TimeBasis

_ENOUGH_RUNS = 4  # of other commands: the first to end are the shortest, and say little about the others
_MOSTLY = 0.5  # of the times must be known
_WORTH_S = 5.0  # mean run time: to plan for shorter jobs takes longer than it saves
_STILL = 0.1  # of its expected time: a job that should have ended goes on for this long

ExpectedOf = Callable[[QueuedJob], ExpectedTime | None]


class MachineLoad:
    def __init__(self, seats: Sequence[Seat], machine: Machine, expected_of: ExpectedOf, ask_of: AskOf) -> None:
        self._devices = {device: number for number, device in enumerate(_devices(seats))}
        self._has_gpus = any(not seat.is_cpu for seat in seats)
        self._whole = seats[0].holds[0].share if seats else WHOLE  # less where several jobs get a slot of each GPU
        self._total_mb = min((machine.total_mb[name] for name in self._devices if name in machine.total_mb), default=0)
        self._expected_of = expected_of
        self._ask_of = ask_of
        self._usual_s = 0.0

    def of_jobs(self, jobs: Sequence[QueuedJob]) -> list[ExpectedLoad] | None:
        """None: too little is known about them, they are short, or not all of them could run here."""
        times = [self._seconds(job) for job in jobs]
        known = [seconds for seconds in times if seconds is not None]
        if len(known) < max(_MOSTLY * len(jobs), 1):
            return None
        self._usual_s = sum(known) / len(known)
        loads = [self._load(job, seconds) for job, seconds in zip(jobs, times, strict=True)]
        is_possible = all(1 <= load.devices <= len(self._devices) for load in loads)
        return loads if is_possible and self._usual_s >= _WORTH_S else None

    def free(self, booked: Mapping[str, int]) -> list[int]:
        return [max(WHOLE - booked.get(device, 0), 0) for device in self._devices]

    def busy(self, live: Iterable[LiveAttempt], mono: float) -> list[BusyDevices]:
        told = (self._busy(attempt, mono) for attempt in live if attempt.follows is None)
        return [each for each in told if each.devices]

    def _busy(self, attempt: LiveAttempt, mono: float) -> BusyDevices:
        expected_s = self._seconds(attempt.job) or self._usual_s
        left_s = max(expected_s - (mono - attempt.started.mono), _STILL * expected_s)
        numbers = [self._devices[device] for device, _ in attempt.holds if device in self._devices]
        return BusyDevices(left_s, numbers, attempt.holds[0].share)

    def _seconds(self, job: QueuedJob) -> float | None:
        told = self._expected_of(job)
        if told is None or (told.runs < _ENOUGH_RUNS and told.basis is not TimeBasis.SAME):
            return None
        return told.seconds if job.timeout_s is None else min(told.seconds, job.timeout_s)

    def _load(self, job: QueuedJob, seconds: float | None) -> ExpectedLoad:
        ask = self._ask_of(job)
        count = 1 if ask.gpus is None or not self._has_gpus else ask.gpus  # 0: on slots that are not among these
        by_memory = ask.mb is not None and self._total_mb > 0 and not ask.alone
        share = min(ask.mb * WHOLE // self._total_mb, WHOLE) if by_memory and ask.mb is not None else self._whole
        return ExpectedLoad(job.id, seconds or self._usual_s, count, max(share, 1), is_packed(ask))


def _devices(seats: Sequence[Seat]) -> list[str]:
    return list(dict.fromkeys(device for seat in seats for device in seat.devices))
