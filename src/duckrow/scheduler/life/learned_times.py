"""How long jobs of this host will run: learned from the attempts of the past, and from each that ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from duckrow.core.jobs.job import QueuedJob
from duckrow.store.jobs.answers import AnswerStore

if TYPE_CHECKING:  # most runs never ask
    from duckrow.core.schedule.run_times import ExpectedTime, RunTimes

_LOOKED_AT = 1000  # successful attempts, when somebody first asks
_LEAST_S = 1.0  # the order of shorter jobs does not matter, and they come by the thousand


class LearnedTimes:
    def __init__(self, store: AnswerStore) -> None:
        self._store = store
        self._times: RunTimes | None = None  # read when somebody first asks: most runs never do

    @property
    def version(self) -> int:
        """Grows whenever an answer may have changed; 0: nothing is known."""
        return self._known().version

    def expected(self, job: QueuedJob) -> ExpectedTime | None:
        return self._known().expected(job)

    def note(self, job: QueuedJob, lasted_s: float) -> None:
        """It has succeeded. If nobody has asked yet, it will be read from the database."""
        if self._times is not None and lasted_s >= _LEAST_S:
            self._times.note(job, lasted_s)

    def _known(self) -> RunTimes:
        if self._times is None:
            self._times = self._store.run_times(_LOOKED_AT, _LEAST_S)
        return self._times
