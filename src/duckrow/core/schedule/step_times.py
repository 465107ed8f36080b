"""How long the steps take that runs of a recipe report, beside how many others: known long before a run ends."""

from __future__ import annotations

import math
from collections import deque

from duckrow.core.named_tuple import NamedTuple
from duckrow.core.ports import CoreTime
from duckrow.core.schedule.pace import Finished

_LEAST_S = 2.0  # between two steps, to tell how long one takes
_SMALL_SHARE = 0.1  # of the time of a step: what starting up adds to each, if nobody knows how many follow
_MOST = 256  # to remember; the first are forgotten
_COMPARED = 16  # runs, to tell how many steps one has


class Step(NamedTuple):
    """The last one that a run has reported, and when, by the wall clock."""

    number: float
    at: float


class Company(NamedTuple):
    """What a run shares the machine with, now."""

    together: int  # jobs on its GPU, itself among them
    busy: float | None = None  # its GPU, in percent
    core_time: CoreTime | None = None
    any_starts: bool = False  # some runs of its recipe have not made a step yet: they do not slow others down


class _Course(NamedTuple):
    """Of a run: what was first seen of it, and since it has had the same company."""

    first: Step
    since: Step | None  # None: its last step may have been made in other company
    last: Step
    company: Company


class StepTimes:
    def __init__(self) -> None:
        self._courses: dict[int, _Course] = {}  # by attempt
        self._starting: dict[int, float] = {}  # by attempt: seconds until its first step
        self._took: dict[tuple[int, int], Finished] = {}  # by attempt, and how many there were
        self._totals: deque[float] = deque(maxlen=_COMPARED)  # steps of runs that have ended

    @property
    def took(self) -> list[Finished]:
        """One for each run and number at a time."""
        return list(self._took.values())

    def note(self, attempt_id: int, began_at: float | None, step: Step, company: Company) -> bool:
        """Whether it tells anything. `began_at`: of a run that began with step 0; None: it continues an earlier one."""
        course = self._courses.get(attempt_id)
        if course is None or step.number < course.last.number:
            self._courses[attempt_id] = _Course(step, None, step, company)
            return False
        if company.any_starts or company.together != course.company.together:
            self._courses[attempt_id] = course._replace(since=None, last=step, company=company)
            return False
        since = course.since
        if since is None:
            is_new = step.number > course.last.number
            self._courses[attempt_id] = course._replace(since=step if is_new else None, last=step, company=company)
            return False
        self._courses[attempt_id] = course._replace(last=step)
        steps, seconds = step.number - since.number, step.at - since.at
        if steps <= 0 or seconds < _LEAST_S:
            return False
        step_s = seconds / steps
        starting_s = self._starting_s(attempt_id, course, began_at, step, step_s)
        if starting_s is None:
            return False
        before, cores = course.company.core_time, None
        if before is not None and company.core_time is not None:
            cores = company.core_time.busy_since(before)
        key = (attempt_id, company.together)
        self._took.pop(key, None)
        self._took[key] = Finished(company.together, step_s + starting_s, company.busy, cores)
        while len(self._took) > _MOST:
            del self._took[next(iter(self._took))]
        return True

    def has(self, attempt_id: int) -> bool:
        """Whether it has reported a step."""
        return attempt_id in self._courses

    def ended(self, attempt_id: int, succeeded: bool) -> None:
        course = self._courses.pop(attempt_id, None)
        self._starting.pop(attempt_id, None)
        if course is not None and succeeded:
            self._totals.append(course.last.number)

    def _starting_s(
        self, attempt_id: int, course: _Course, began_at: float | None, step: Step, step_s: float
    ) -> float | None:
        """What starting up adds to each step; None: too much, and nobody knows how many follow."""
        before = 0.0 if began_at is None else course.first.number
        starting_s = 0.0
        if began_at is not None:  # its first steps took as long as those that were measured first
            started_s = max(course.first.at - began_at - before * step_s, 0.0)
            starting_s = self._starting.setdefault(attempt_id, started_s)
        if self._totals:
            return starting_s / max(math.fsum(self._totals) / len(self._totals), step.number, 1.0)
        each_s = starting_s / max(step.number - course.first.number + before, 1.0)
        return each_s if each_s <= _SMALL_SHARE * step_s else None
