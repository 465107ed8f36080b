"""Chooses a job to start before there is room for its peak: others will have ended by the time that it reaches it."""

from __future__ import annotations

from collections.abc import Iterator

from duckrow.core.devices.device import Device, Reservation
from duckrow.core.devices.inventory import WHOLE
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Ask, is_packed
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.memory.course import MemoryForecast, Tenancy
from duckrow.core.schedule.backfill import Front
from duckrow.core.schedule.decide import AskOf, Start, machine_has_room
from duckrow.scheduler.memory.tenancies import LOOKED_AT, Tenancies
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.tick.seen import Seen


class EarlyChoice:
    def __init__(self, state: HostState, seen: Seen, ask_of: AskOf, mono: float) -> None:
        self._state = state
        self._seen = seen
        self._ask_of = ask_of
        self._mono = mono
        self._tenancies = Tenancies(state)

    def choose(self) -> Start | None:
        """One at a time: the next tick sees more."""
        gpus = {gpu: tenancies for gpu in self._state.gpus.watched if (tenancies := self._on(gpu))}
        forecasts = {gpu: MemoryForecast.of(tenancies) for gpu, tenancies in gpus.items()}
        for job, ask in self._candidates() if gpus else ():
            course, slack = self._tenancies.course_of(job), self._tenancies.slack_of(job)
            for gpu in gpus if course is not None else ():
                may_join = ask.together is None or len(gpus[gpu]) < ask.together
                if may_join and course and forecasts[gpu].has_room(course, _room_mb(gpu, self._seen.machine), slack):
                    return self._start(job, ask, gpu)
        return None

    def _candidates(self) -> Iterator[tuple[QueuedJob, Ask]]:
        """Those that wait for a part of one GPU, as far as their order allows (core/schedule/backfill.py)."""
        front, room = Front(), self._seen.room
        for job in self._seen.queue[:LOOKED_AT]:
            ask = self._ask_of(job)
            if not is_packed(ask) or ask.gpus not in (None, 1) or not machine_has_room(ask, room):
                return
            if not front.is_empty and not front.lets_pass(job, ask):
                return
            if all(room.get(scope, 1) > 0 for scope in job.scopes):
                yield job, ask
            front.join(job, ask)

    def _on(self, gpu: str) -> list[Tenancy]:
        """Who is there; empty: nobody, or not all of them are known, or it may not be used."""
        machine, booked = self._seen.machine, self._state.booked
        is_offered = any(seat.devices == (gpu,) for seat in self._seen.seats)
        if not is_offered or machine.is_used_by_others(gpu) or gpu in machine.locked_by or machine.is_full(gpu, booked):
            return []
        if gpu not in machine.total_mb or not self._state.observation.is_known(gpu, self._mono):
            return []
        here = [attempt for attempt in self._state.running if gpu in attempt.gpus]
        if len(here) != booked.jobs[gpu]:
            return []
        return [self._tenancies.of(each, gpu, machine, self._mono) for each in here]

    def _start(self, job: QueuedJob, ask: Ask, gpu: str) -> Start:
        """It reserves what is left, and more as soon as there is more."""
        machine = self._seen.machine
        owed = machine.share_of(gpu, ask.mb or 0)
        free = WHOLE - self._state.booked.get(gpu, 0) - machine.pressure.get(gpu, 0)
        return Start(job, (Reservation(Device(gpu), max(min(free, owed), 1)),), owed)


def _room_mb(gpu: str, machine: Machine) -> int:
    return machine.total_mb[gpu] - machine.policy.margin_of(machine.total_mb[gpu])
