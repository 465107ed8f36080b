"""Lets known jobs that grow start when it was planned (`core/memory/start_plan.py`), though there may be room before.

A plan counts on runs that keep to their times; `early_choice.py` asks whether a job may start even if they do not. It
is made again when somebody comes or ends, when runs do other than before, and now and then.
"""

from __future__ import annotations

from collections.abc import Sequence

from duckrow.core.devices.needs import is_packed
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.memory.course import Tenancy
from duckrow.core.memory.start_plan import GrowingJob, KeptPlan, PlannedFor, StartPlan, plan_starts
from duckrow.core.schedule.backfill import Front
from duckrow.core.schedule.decide import AskOf
from duckrow.scheduler.memory.tenancies import LOOKED_AT, Tenancies, room_mb
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.tick.seen import Seen

_AGAIN = 1 / 16  # of the time that is planned: runs have grown since then, which tells how far they have come

_LEAST_S = 1.0  # two readings


class StartPlans:
    def __init__(self, state: HostState, seen: Seen, ask_of: AskOf, mono: float) -> None:
        self._state = state
        self._seen = seen
        self._ask_of = ask_of
        self._mono = mono
        self._tenancies = Tenancies(state)

    def plan(self) -> KeptPlan | None:
        """The plan for all that wait; None: none is possible, and each starts as soon as there is room."""
        gpus = {device for seat in self._seen.seats if not seat.is_cpu for device in seat.devices}
        comers = self._comers() if len(gpus) == 1 else None
        if comers is None:
            return None
        (gpu,) = gpus
        here, kept = self._tenancies.on(gpu, self._seen, self._mono), self._state.early.plan
        if here is None:
            return kept
        made_for = self._made_for(here)
        if kept is not None and self._mono < kept.until_mono and self._still_holds(kept, made_for):
            return kept
        here = [each._replace(slack=each.slack.planned) for each in here]
        plan = plan_starts(here, comers, room_mb(gpu, self._seen.machine)) or StartPlan({})
        starts_mono = {job_id: self._mono + after_s for job_id, after_s in plan.starts_s.items()}
        longest_s = max(comer.course.lasted_s for comer in comers)
        return KeptPlan(starts_mono, made_for, self._mono + max(_AGAIN * longest_s, _LEAST_S))

    def _comers(self) -> list[GrowingJob] | None:
        """None: they are too many, or not all of them are known, or their order matters."""
        queue, front = self._seen.queue, Front()
        if len(queue) > LOOKED_AT or self._seen.machine.policy.jobs_per_gpu is not None:
            return None  # a queue that is so short was read as a whole
        comers: list[GrowingJob] = []
        for job in queue:
            ask = self._ask_of(job)
            course = self._tenancies.course_of(job)
            if course is None or not is_packed(ask) or ask.gpus not in (None, 1) or ask.cpus or ask.mem_mb:
                return None
            if ask.together is not None or any(scope in self._seen.room for scope in job.scopes):
                return None
            if not front.is_empty and not front.lets_pass(job, ask):
                return None
            front.join(job, ask)
            comers.append(GrowingJob(job.id, course, self._tenancies.slack_of(job).planned))
        return comers

    def _made_for(self, here: Sequence[Tenancy]) -> PlannedFor:
        jobs = [*self._seen.queue, *(attempt.job for attempt in self._state.running)]
        return PlannedFor(frozenset(job.id for job in jobs), sum(each.is_as_foreseen for each in here))

    def _still_holds(self, kept: KeptPlan, now: PlannedFor) -> bool:
        """That some have started is as planned; that somebody has come or ended may change it."""
        return kept.made_for.jobs == now.jobs and kept.made_for.as_foreseen <= now.as_foreseen

    def due(self, plan: KeptPlan) -> list[QueuedJob]:
        return [job for job in self._seen.queue if plan.starts_mono.get(job.id, 0.0) <= self._mono]
