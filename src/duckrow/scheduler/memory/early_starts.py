"""Sees to jobs that started before there was room for their peak: they get what becomes free, or give way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from duckrow.core.clock import Now
from duckrow.core.devices.device import Reservation
from duckrow.core.devices.inventory import WHOLE
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import needs_from
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.life.states import Outcome
from duckrow.scheduler.life.stopping import Stopping
from duckrow.scheduler.state.host_state import HostState
from duckrow.store.attempts.reservations import ReservationStore
from duckrow.store.attempts.use import AttemptUseStore

_SOON_S = 5.0  # a job that gives way needs some time to end
_GIVES_WAY = "it started early, and others need their memory sooner than they did before"


class EarlyStarts:
    def __init__(
        self, state: HostState, stopping: Stopping, uses: AttemptUseStore, reservations: ReservationStore
    ) -> None:
        self._state = state
        self._stopping = stopping
        self._uses = uses
        self._reservations = reservations

    # -- what those that started early still lack -------------------------------------------------------------

    def owe(self, job_id: int, share: int) -> None:
        """It starts now, with less than this."""
        self._state.early.owe(job_id, share)
        self._reservations.owe(job_id, share)

    def pay(self, machine: Machine) -> None:
        """What has become free is first for them. Called in the tick's transaction, before anything is decided."""
        owed = self._state.early.owed
        for attempt in self._early() if owed else ():
            ((gpu, share),) = attempt.holds
            free = WHOLE - self._state.booked.get(gpu, 0) - machine.pressure.get(gpu, 0)
            raised = min(share + max(free, 0), owed[attempt.job.id])
            if raised > share:
                self._state.rehold(attempt, (Reservation(gpu, raised),))
                self._reservations.change(attempt)
            if raised == owed[attempt.job.id]:
                self._settle(attempt.job.id)

    def _early(self) -> list[LiveAttempt]:
        """The first that came is the first to get something."""
        owed = self._state.early.owed
        early = [attempt for attempt in self._state.live.values() if attempt.job.id in owed]
        for job_id in owed.keys() - {attempt.job.id for attempt in early}:
            self._settle(job_id)
        return sorted(early, key=lambda attempt: attempt.started.mono)

    def _settle(self, job_id: int) -> None:
        """It has got all, or it is gone."""
        self._state.early.settle(job_id)
        self._reservations.paid(job_id)

    def adopted(self, attempts: Iterable[LiveAttempt]) -> None:
        """Take over what the database says is owed to them. Called in a transaction."""
        for attempt in attempts:
            share = self._reservations.owed(attempt.job.id) if attempt.has_gpu and attempt.job.needs else None
            if share is not None:
                self._state.early.owe(attempt.job.id, share)

    def look(self, now: Now) -> None:
        """Late joiners give way first: before one that reserved its memory runs out, stop the last that came early."""
        for attempt in reversed(self._early() if self._state.early.owed else []):
            use = self._state.observation.uses.get(attempt.id)
            has_taken = use is not None and any(use.mb.values())  # else it has nothing to give back
            if has_taken and attempt.stop is None and self._takes_what_others_need(attempt.gpus[0], now.mono):
                self._stopping.begin(attempt, Outcome.OUT_OF_MEMORY, now, _GIVES_WAY)
                return

    def _takes_what_others_need(self, gpu: str, mono: float) -> bool:
        reading, machine = self._state.observation.readings.get(gpu), self._state.gpus.machine
        here = [attempt for attempt in self._state.running if gpu in attempt.gpus]
        if reading is None or reading.free_mb is None or gpu not in machine.total_mb:
            return False
        if self._state.observation.is_outdated([gpu], mono):  # somebody has ended since, and left more
            return False
        if any(attempt.stop is not None for attempt in here):  # what it uses is about to be free
            return False
        from duckrow.core.memory.course import most_needed_mb  # most runs need none
        from duckrow.scheduler.memory.tenancies import Tenancies

        entitled = [each for each in here if each.job.id not in self._state.early.owed]
        tenancies = [Tenancies(self._state).of(each, gpu, machine, mono) for each in entitled]
        return most_needed_mb(tenancies, _SOON_S) > reading.free_mb

    # -- what is known ----------------------------------------------------------------------------------------

    def learn(self, queue: Sequence[QueuedJob], machine: Machine) -> None:
        """Read what a decision may ask: what the runs here, and those that wait, did before."""
        if self._state.early.knows_courses:
            self._compare()
        if not self._state.queue.any_needs:
            return
        from duckrow.scheduler.memory.tenancies import LOOKED_AT, Tenancies, courses_matter  # most runs need none

        if not courses_matter(self._state, queue, machine):
            return
        jobs = [*queue[:LOOKED_AT], *(attempt.job for attempt in self._state.live.values())]
        for needs in map(needs_from, {job.needs for job in jobs if job.needs is not None}):
            peak = Tenancies(self._state).peak_of(needs)
            if peak is not None and not self._state.early.is_read(needs.recipe, peak):
                self._state.early.read(needs.recipe, peak, self._uses.courses(needs.recipe))

    def _compare(self) -> None:
        """How exactly the runs that have just ended did what the same command did before."""
        from duckrow.core.memory.course import agreed, differing

        early = self._state.early
        for attempt, verdict, at in self._state.ends:
            needs = needs_from(attempt.job.needs)
            course = agreed(early.courses(needs.recipe, needs.parameters))
            if course is not None and verdict.outcome is Outcome.SUCCEEDED:
                early.compare(needs.recipe, differing(at - attempt.started.wall, course.lasted_s))
