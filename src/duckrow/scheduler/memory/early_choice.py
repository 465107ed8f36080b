"""Chooses jobs to start before there is room for their peaks: others will have ended by then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from duckrow.core.devices.device import Device, Reservation
from duckrow.core.devices.inventory import WHOLE
from duckrow.core.devices.needs import Ask, is_packed
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.memory.course import PacedForecast, Tenancy
from duckrow.core.schedule.backfill import Front
from duckrow.core.schedule.decide import AskOf, Start, machine_has_room
from duckrow.scheduler.memory.tenancies import LOOKED_AT, Tenancies, room_mb
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.tick.seen import Seen


class EarlyChoice:
    def __init__(self, state: HostState, seen: Seen, ask_of: AskOf, mono: float) -> None:
        self._state = state
        self._seen = seen
        self._ask_of = ask_of
        self._mono = mono
        self._tenancies = Tenancies(state)

    def choose(self) -> list[Start]:
        """Those that start now, in the order of the queue."""
        gpus = {
            gpu: here for gpu in self._state.gpus.watched if (here := self._tenancies.on(gpu, self._seen, self._mono))
        }
        forecasts = {gpu: PacedForecast.of(here) for gpu, here in gpus.items()}
        starts: list[Start] = []
        for job, ask in self._candidates() if gpus else ():
            course, slack = self._tenancies.course_of(job), self._tenancies.slack_of(job)
            for gpu in gpus if course is not None else ():
                may_join = ask.together is None or len(gpus[gpu]) < ask.together
                if may_join and course and forecasts[gpu].has_room(course, room_mb(gpu, self._seen.machine), slack):
                    starts.append(self._start(job, ask, gpu, starts))
                    if self._is_limited(job, ask):
                        return starts  # the next tick knows what is left
                    gpus[gpu].append(Tenancy(course, 0.0, ask.mb or 0, slack=slack))
                    forecasts[gpu] = PacedForecast.of(gpus[gpu])
                    break
        return starts

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

    def _is_limited(self, job: QueuedJob, ask: Ask) -> bool:
        """Whether something else than memory decides how many may run."""
        is_scoped = any(scope in self._seen.room for scope in job.scopes)
        return is_scoped or bool(ask.cpus or ask.mem_mb) or self._seen.machine.policy.jobs_per_gpu is not None

    def _start(self, job: QueuedJob, ask: Ask, gpu: str, others: Sequence[Start]) -> Start:
        """`others`: that start now, too. It reserves what is left, and more as soon as there is more."""
        machine = self._seen.machine
        owed = machine.share_of(gpu, ask.mb or 0)
        held = self._state.booked.get(gpu, 0) + sum(
            other.holds[0].share for other in others if gpu == other.holds[0].device
        )
        share = max(min(WHOLE - held - machine.pressure.get(gpu, 0), owed), 1)
        return Start(job, (Reservation(Device(gpu), share),), owed)
