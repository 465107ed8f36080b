"""How fast runs are beside others on their GPU, and how many at a time are tried there."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from duckrow.core.ports import CoreTime
from duckrow.core.schedule.pace import BestPace, Crowds, Finished
from duckrow.core.schedule.step_times import Company, Step, StepTimes

PaceKey = tuple[str, str]  # recipe and model

_MOST_ENDS = 256  # the latest of a recipe: older ones may have been other work
_ENOUGH_STEPS = 3  # runs that report steps: then these tell the pace


class GpuPaces:
    def __init__(self) -> None:
        self.crowds = Crowds()
        self.known: Mapping[PaceKey, BestPace] = {}  # as the database says
        self.looked_mono = 0.0  # when we last looked which steps have been reported
        self.tried: dict[PaceKey, int | None] = {}  # how many at a time from now on; None: all that have room
        self.found_before: set[PaceKey] = set()  # what was already known when we began
        self._ends: dict[PaceKey, deque[Finished]] = {}  # since this host started
        self._steps: dict[PaceKey, StepTimes] = {}
        self._cores_before: dict[int, CoreTime] = {}  # by attempt, when it started

    def load(self, known: Mapping[PaceKey, BestPace]) -> None:
        self.known = known

    def learn(self, key: PaceKey, found: BestPace) -> None:
        self.known = {**self.known, key: found}

    def begin(self, key: PaceKey, number: int | None) -> None:
        """A run starts, and no number was tried yet. None: the queue is too short for one."""
        self.found_before |= {key} & self.known.keys()
        if number is not None:
            self.tried[key] = number

    def take(self, key: PaceKey, number: int | None) -> None:
        """This many at a time from now on."""
        self.tried[key] = number

    def look(self, mono: float) -> None:
        self.looked_mono = mono

    # -- what was seen ----------------------------------------------------------------------------------------

    def started(self, attempt_id: int, core_time: CoreTime | None) -> None:
        if core_time is not None:
            self._cores_before[attempt_id] = core_time

    def cores_when_started(self, attempt_id: int) -> CoreTime | None:
        """It has ended."""
        return self._cores_before.pop(attempt_id, None)

    def note_end(self, key: PaceKey, run: Finished) -> None:
        self._ends.setdefault(key, deque(maxlen=_MOST_ENDS)).append(run)

    def note_step(self, key: PaceKey, attempt_id: int, began_at: float | None, step: Step, company: Company) -> bool:
        """Whether it tells anything."""
        return self._steps.setdefault(key, StepTimes()).note(attempt_id, began_at, step, company)

    def has_steps(self, key: PaceKey) -> bool:
        return key in self._steps

    def has_step_of(self, key: PaceKey, attempt_id: int) -> bool:
        return key in self._steps and self._steps[key].has(attempt_id)

    def end_steps(self, key: PaceKey, attempt_id: int, succeeded: bool) -> None:
        self._steps[key].ended(attempt_id, succeeded)

    def done(self, key: PaceKey) -> Sequence[Finished]:
        """Steps tell more than runs, and sooner; also about runs that have different numbers of them."""
        steps = self._steps[key].took if key in self._steps else []
        return steps if len(steps) >= _ENOUGH_STEPS else list(self._ends.get(key, ()))
