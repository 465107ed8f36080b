"""What the runs on a GPU will take of its memory, judged by what the same commands did before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from duckrow.core.devices.inventory import WHOLE
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Needs, needs_from, with_margin
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.memory.course import Course, Slack, Tenancy, agreed, differing, slack_of
from duckrow.core.memory.knowledge import Basis, RecipePeak
from duckrow.core.memory.prediction import expected_of
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.tick.seen import Seen

_TELLS_S = 5.0  # after less time, readings are too far apart to tell how exactly a run keeps to its course

LOOKED_AT = 16
"""How many of the jobs that wait may start early."""


def courses_matter(state: HostState, queue: Sequence[QueuedJob], machine: Machine) -> bool:
    """Whether what jobs take over time does: several are there, some wait, and none must keep to what it reserved."""
    if not queue or len(queue) + len(state.live) < 2:
        return False
    return not machine.policy.enforce and len(state.gpus.given_out.models) == 1


def room_mb(gpu: str, machine: Machine) -> int:
    """What jobs may take of a GPU together."""
    return machine.total_mb[gpu] - machine.policy.margin_of(machine.total_mb[gpu])


class Tenancies:
    def __init__(self, state: HostState) -> None:
        self._state = state

    def on(self, gpu: str, seen: Seen, mono: float) -> list[Tenancy] | None:
        """Who is on a GPU; None: not all of them are known, or it may not be used."""
        machine, booked = seen.machine, self._state.booked
        is_offered = any(seat.devices == (gpu,) for seat in seen.seats)
        if not is_offered or machine.is_used_by_others(gpu) or gpu in machine.locked_by or machine.is_full(gpu, booked):
            return None
        if gpu not in machine.total_mb or not self._state.observation.is_known(gpu, mono):
            return None
        here = [attempt for attempt in self._state.running if gpu in attempt.gpus]
        if len(here) != booked.jobs[gpu]:
            return None
        return [self.of(each, gpu, machine, mono) for each in here]

    def of(self, attempt: LiveAttempt, gpu: str, machine: Machine, mono: float) -> Tenancy:
        state = self._state
        share = max(sum(share for device, share in attempt.holds if device == gpu), state.early.owed_to(attempt.job.id))
        use = state.observation.uses.get(attempt.id)
        is_steady = attempt.suspended_mono is None and attempt.stop is None and not (use and use.is_guess)
        course = self.course_of(attempt.job) if is_steady and len(attempt.holds) == 1 else None
        used_mb, grown_s = (0, None) if use is None else (use.mb.get(gpu, 0), use.grown_s)
        reserved_mb, age_s = share * machine.total_mb[gpu] // WHOLE, mono - attempt.started.mono
        return Tenancy(course, age_s, reserved_mb, used_mb, grown_s, self.slack_of(attempt.job))

    def slack_of(self, job: QueuedJob) -> Slack:
        """By runs of its recipe that have ended, and by those that run: whether they grow when they should."""
        recipe = needs_from(job.needs).recipe
        return slack_of([*self._state.early.compared(recipe), *self._grown_after(recipe)])

    def _grown_after(self, recipe: str) -> Iterator[float]:
        for id, use in self._state.observation.uses.items():
            attempt = self._state.live.get(id)
            if attempt is None or use.is_guess or use.grown_s is None or needs_from(attempt.job.needs).recipe != recipe:
                continue
            course = self.course_of(attempt.job)
            if course is not None and (reaches_s := course.reaches_s(use.peak_mb)) >= _TELLS_S:
                yield differing(use.grown_s, reaches_s, readings=2)  # of the one before, and of this one

    def course_of(self, job: QueuedJob) -> Course | None:
        """What the same command did before; None: unknown, or it ran out of memory or gave way."""
        needs = needs_from(job.needs)
        if self.peak_of(needs) is None:
            return None
        expected = expected_of(needs, self._state.known_memory, self._state.gpus.given_out)
        if expected is None or expected.basis is not Basis.SAME:
            return None
        course = agreed(self._state.early.courses(needs.recipe, needs.parameters))
        return course if course and with_margin(course.peak_mb, is_same=True) >= (expected.mb or 0) else None

    def peak_of(self, needs: Needs) -> RecipePeak | None:
        """The peak of its recipe; None: it is unknown, or the job's own memory is another."""
        if needs.ooms or needs.gpu_mem_mb is not None or not needs.auto or len(self._state.gpus.given_out.models) != 1:
            return None
        (model,) = self._state.gpus.given_out.models
        return self._state.known_memory.peaks.get((needs.recipe, model))
