"""How long jobs of this host will run: learned from the attempts of the past, and from each that ends."""

from __future__ import annotations

from duckrow.core.jobs.job import QueuedJob
from duckrow.store.jobs.answers import AnswerStore

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:  # most runs never ask
    from duckrow.core.schedule.run_times import ExpectedTime, RunTimes

_LOOKED_AT = 1000  # successful attempts, when somebody first asks
_LEAST_S = 1.0  # the order of shorter jobs does not matter, and they come by the thousand


class LearnedTimes:
    def __init__(self, store: AnswerStore) -> None:
        self._store = store
        self._times: RunTimes | None = None  # loaded when somebody first asks and there is something to know
        self._nothing_known = False

    @property
    def version(self) -> int:
        """Grows whenever an answer may have changed; 0: nothing is known."""
        known = self._known()
        return 0 if known is None else known.version

    def expected(self, job: QueuedJob) -> ExpectedTime | None:
        known = self._known()
        return None if known is None else known.expected(job)

    def note(self, job: QueuedJob, lasted_s: float) -> None:
        """It has succeeded. If nobody has asked yet, it will be read from the database."""
        if lasted_s >= _LEAST_S:
            self._nothing_known = False
            if self._times is not None:
                self._times.note(job, lasted_s)

    def _known(self) -> RunTimes | None:
        if self._times is None and not self._nothing_known:
            self._nothing_known = not self._store.any_run_times(_LOOKED_AT, _LEAST_S)
            self._times = None if self._nothing_known else self._store.run_times(_LOOKED_AT, _LEAST_S)
        return self._times
