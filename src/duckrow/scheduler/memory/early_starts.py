"""Starts jobs before there is room for their peak, if others will have ended by the time that they reach it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from duckrow.core.clock import Now
from duckrow.core.devices.device import Device, Reservation
from duckrow.core.devices.inventory import WHOLE
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Ask, is_packed, needs_from, with_margin
from duckrow.core.jobs.job import LiveAttempt, QueuedJob
from duckrow.core.life.states import Outcome
from duckrow.core.memory.course import Course, MemoryForecast, Tenancy, agreed, slack_of
from duckrow.core.memory.knowledge import Basis, RecipePeak
from duckrow.core.memory.prediction import expected_of
from duckrow.core.schedule.backfill import Front
from duckrow.core.schedule.decide import Decision, Start, machine_has_room
from duckrow.scheduler.life.stopping import Stopping
from duckrow.scheduler.memory.watch import Watch
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.tick.seen import Seen
from duckrow.store.attempts.reservations import ReservationStore
from duckrow.store.attempts.use import AttemptUseStore

_LOOKED_AT = 16  # of the jobs that wait
_TELLS_S = 8.0  # after less time, readings are too far apart to tell how exactly a run keeps to its course
_SOON_S = 5.0  # a job that gives way needs some time to end
_GIVES_WAY = "it started early, and others need their memory sooner than they did before"
_COMPARED = 16  # runs of a recipe: older ones may have been in other company


class EarlyStarts:
    def __init__(
        self,
        state: HostState,
        watch: Watch,
        stopping: Stopping,
        uses: AttemptUseStore,
        reservations: ReservationStore,
    ) -> None:
        self._state = state
        self._stopping = stopping
        self._watch = watch
        self._uses = uses
        self._reservations = reservations
        self._owed: dict[int, int] = {}  # job -> the share of its GPU that it will need; the database has it too
        self._times: dict[str, deque[float]] = {}  # by recipe: how many times as long as before its runs took
        self._read: dict[str, tuple[RecipePeak, dict[str, list[Course]]]] = {}  # by recipe

    # -- what those that started early still lack -------------------------------------------------------------

    def pay(self, machine: Machine) -> None:
        """What has become free is first for them. Called in the tick's transaction, before anything is decided."""
        self._compare()
        for attempt in self._early() if self._owed else ():
            ((gpu, share),) = attempt.holds
            free = WHOLE - self._state.booked.get(gpu, 0) - machine.pressure.get(gpu, 0)
            raised = min(share + max(free, 0), self._owed[attempt.job.id])
            if raised > share:
                self._state.rehold(attempt, (Reservation(gpu, raised),))
                self._reservations.change(attempt)
            if raised == self._owed[attempt.job.id]:
                self._settle(attempt.job.id)

    def _early(self) -> list[LiveAttempt]:
        """The first that came is the first to get something."""
        early = [attempt for attempt in self._state.live.values() if attempt.job.id in self._owed]
        for job_id in self._owed.keys() - {attempt.job.id for attempt in early}:
            self._settle(job_id)
        return sorted(early, key=lambda attempt: attempt.started.mono)

    def _settle(self, job_id: int) -> None:
        """It has got all, or it is gone."""
        del self._owed[job_id]
        self._reservations.paid(job_id)

    def adopted(self, attempts: Iterable[LiveAttempt]) -> None:
        """Take over what the database says is owed to them. Called in a transaction."""
        for attempt in attempts:
            share = self._reservations.owed(attempt.job.id) if attempt.has_gpu and attempt.job.needs else None
            if share is not None:
                self._owed[attempt.job.id] = share

    def _compare(self) -> None:
        """How exactly the runs that have just ended did what the same command did before."""
        for attempt, verdict, at in self._state.ends if self._read else ():
            needs = needs_from(attempt.job.needs)
            course = (
                agreed(self._read[needs.recipe][1].get(needs.parameters, [])) if needs.recipe in self._read else None
            )
            if course is not None and verdict.outcome is Outcome.SUCCEEDED:
                times = self._times.setdefault(needs.recipe, deque(maxlen=_COMPARED))
                times.append((at - attempt.started.wall) / course.lasted_s)

    def look(self, now: Now) -> None:
        """Late joiners give way first: before one that reserved its memory runs out, stop the last that came early."""
        for attempt in reversed(self._early() if self._owed else []):
            if attempt.stop_began_mono is None and self._takes_what_others_need(attempt.gpus[0], now.mono):
                self._stopping.begin(attempt, Outcome.OUT_OF_MEMORY, now, _GIVES_WAY)
                return

    def _takes_what_others_need(self, gpu: str, mono: float) -> bool:
        reading, machine = self._watch.observation.readings.get(gpu), self._watch.gpus.machine
        here = [attempt for attempt in self._state.running if gpu in attempt.gpus]
        if reading is None or reading.free_mb is None or gpu not in machine.total_mb:
            return False
        if any(attempt.stop_began_mono is not None for attempt in here):  # what it uses is about to be free
            return False
        entitled = [self._tenancy(each, gpu, machine, mono) for each in here if each.job.id not in self._owed]
        return sum(max(each.most_mb(0.0, _SOON_S) - each.used_mb, 0) for each in entitled) > reading.free_mb

    # -- one more ---------------------------------------------------------------------------------------------

    def add(self, decision: Decision, seen: Seen, now: Now) -> Decision:
        """One at a time, and only if nothing else starts: the next tick sees more."""
        if decision.starts or not self._state.queue.any_needs or not self._state.live or not seen.queue:
            return decision
        if seen.machine.policy.enforce or len(self._watch.gpus.given_out.models) != 1:
            return decision
        start = self._choose(seen, now.mono)
        return decision if start is None else decision._replace(starts=[start])

    def _choose(self, seen: Seen, mono: float) -> Start | None:
        gpus = {gpu: tenancies for gpu in self._watch.gpus.watched if (tenancies := self._on(gpu, seen, mono))}
        forecasts = {gpu: MemoryForecast.of(tenancies) for gpu, tenancies in gpus.items()}
        for job, ask in self._candidates(seen) if gpus else ():
            course, slack = self._course_of(job), self._slack_of(job)
            for gpu in gpus if course is not None else ():
                may_join = ask.together is None or len(gpus[gpu]) < ask.together
                if may_join and course and forecasts[gpu].has_room(course, _room_mb(gpu, seen.machine), slack):
                    return self._start(job, ask, gpu, seen.machine)
        return None

    def _candidates(self, seen: Seen) -> Iterator[tuple[QueuedJob, Ask]]:
        """Those that wait for a part of one GPU, as far as their order allows (core/schedule/backfill.py)."""
        front = Front()
        for job in seen.queue[:_LOOKED_AT]:
            ask = self._watch.ask_of(job)
            if not is_packed(ask) or ask.gpus not in (None, 1) or not machine_has_room(ask, seen.room):
                return
            if not front.is_empty and not front.lets_pass(job, ask, None):
                return
            if all(seen.room.get(scope, 1) > 0 for scope in job.scopes):
                yield job, ask
            front.join(job, ask)

    def _on(self, gpu: str, seen: Seen, mono: float) -> list[Tenancy]:
        """Who is there; empty: nobody, or not all of them are known, or it may not be used."""
        machine, booked = seen.machine, self._state.booked
        is_offered = any(seat.devices == (gpu,) for seat in seen.seats)
        if not is_offered or machine.is_used_by_others(gpu) or gpu in machine.locked_by or machine.is_full(gpu, booked):
            return []
        if gpu not in machine.total_mb or not self._watch.observation.is_known(gpu, mono):
            return []
        here = [attempt for attempt in self._state.running if gpu in attempt.gpus]
        return [self._tenancy(each, gpu, machine, mono) for each in here] if len(here) == booked.jobs[gpu] else []

    def _tenancy(self, attempt: LiveAttempt, gpu: str, machine: Machine, mono: float) -> Tenancy:
        share = max(sum(share for device, share in attempt.holds if device == gpu), self._owed.get(attempt.job.id, 0))
        use = self._watch.observation.uses.get(attempt.id)
        is_steady = attempt.suspended_mono is None and attempt.stop_began_mono is None and not (use and use.is_guess)
        course = self._course_of(attempt.job) if is_steady and len(attempt.holds) == 1 else None
        used_mb, grown_s = (0, None) if use is None else (use.mb.get(gpu, 0), use.grown_s)
        reserved_mb, age_s = share * machine.total_mb[gpu] // WHOLE, mono - attempt.started.mono
        return Tenancy(course, age_s, reserved_mb, used_mb, grown_s, self._slack_of(attempt.job))

    def _slack_of(self, job: QueuedJob) -> float:
        """By runs of its recipe that have ended, and by those that run: whether they grow when they should."""
        recipe = needs_from(job.needs).recipe
        return slack_of([*self._times.get(recipe, ()), *self._grown_after(recipe)])

    def _grown_after(self, recipe: str) -> Iterator[float]:
        for id, use in self._watch.observation.uses.items():
            attempt = self._state.live.get(id)
            if attempt is None or use.is_guess or use.grown_s is None or needs_from(attempt.job.needs).recipe != recipe:
                continue
            course = self._course_of(attempt.job)
            if course is not None and (reaches_s := course.reaches_s(use.peak_mb)) >= _TELLS_S:
                yield use.grown_s / reaches_s

    def _start(self, job: QueuedJob, ask: Ask, gpu: str, machine: Machine) -> Start:
        """It reserves what is left, and more as soon as there is more."""
        owed = machine.share_of(gpu, ask.mb or 0)
        free = WHOLE - self._state.booked.get(gpu, 0) - machine.pressure.get(gpu, 0)
        self._owed[job.id] = owed
        self._reservations.owe(job.id, owed)
        return Start(job, (Reservation(Device(gpu), max(min(free, owed), 1)),))

    # -- what is known ----------------------------------------------------------------------------------------

    def _course_of(self, job: QueuedJob) -> Course | None:
        """What the same command did before; None: unknown, or it ran out of memory or gave way."""
        needs, known = needs_from(job.needs), self._watch.learning.known
        (model,) = self._watch.gpus.given_out.models
        peak = known.peaks.get((needs.recipe, model))
        if peak is None or needs.ooms or needs.gpu_mem_mb is not None or not needs.auto:
            return None
        expected = expected_of(needs, known, self._watch.gpus.given_out)
        if expected is None or expected.basis is not Basis.SAME:
            return None
        if needs.recipe not in self._read or self._read[needs.recipe][0] != peak:
            self._read[needs.recipe] = (peak, self._uses.courses(needs.recipe))
        course = agreed(self._read[needs.recipe][1].get(needs.parameters, []))
        return course if course and with_margin(course.peak_mb, is_same=True) >= (expected.mb or 0) else None


def _room_mb(gpu: str, machine: Machine) -> int:
    return machine.total_mb[gpu] - machine.policy.margin_of(machine.total_mb[gpu])
