"""The moves of a job through its states. Each is a compare-and-set; a trigger writes its event."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Sequence

from duckrow.core.errors import IllegalTransition
from duckrow.core.life.states import Outcome, State, check_transition
from duckrow.store.life.delays import NotBefore, delayed
from duckrow.store.life.dependencies import DependencyStore
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from duckrow.core.clock import Now
    from duckrow.core.jobs.job import QueuedJob
    from duckrow.core.life.retry import Verdict

_SQL = load_queries("moves")
_AT_ONCE: NotBefore = (None, None, None)


class MoveStore:
    def __init__(self, database: Database, dependencies: DependencyStore) -> None:
        self._database = database
        self._dependencies = dependencies

    def start(self, job_id: int, at: float) -> None:
        moved = self._database.execute(_SQL["start_job"], {"job_id": job_id, "at": at})
        self._expect_moved(moved.rowcount, job_id, State.QUEUED, State.STARTING)

    def move(self, job_id: int, before: State, after: State, at: float, detail: str) -> None:
        check_transition(job_id, before, after)
        moved = self._database.execute(
            _SQL["move_job"], {"job_id": job_id, "before": before, "after": after, "at": at, "detail": detail}
        )
        self._expect_moved(moved.rowcount, job_id, before, after)

    def finish(self, job_id: int, before: State, outcome: Outcome, at: float, detail: str) -> bool:
        """End a job, and skip those that can no longer start. Returns whether any job waited for it."""
        self._finish(job_id, before, outcome, at, detail)
        if not self._dependencies.any_wait:
            return False
        return self._skip_dependents(job_id, outcome, at)

    def _skip_dependents(self, job_id: int, outcome: Outcome, at: float) -> bool:
        """Skip those that can no longer start, and those behind them; False if no job waited for this one."""
        waited, broken = self._dependencies.settle(job_id, outcome)
        ended: deque[int] = deque()
        while broken or ended:
            for dependent, why in broken:
                self._finish(dependent, State.QUEUED, Outcome.SKIPPED, at, why)
                ended.append(dependent)
            # One at a time: the next job may wait for several of them, but is skipped once.
            _, broken = self._dependencies.settle(ended.popleft(), Outcome.SKIPPED)
        return waited

    def _finish(self, job_id: int, before: State, outcome: Outcome, at: float, detail: str) -> None:
        check_transition(job_id, before, State.DONE)
        moved = self._database.execute(
            _SQL["finish_job"],
            {"job_id": job_id, "before": before, "outcome": outcome, "at": at, "detail": detail},
        )
        self._expect_moved(moved.rowcount, job_id, before, State.DONE)

    def kill_queued(self, job_ids: Sequence[int], at: float, detail: str) -> None:
        """End those of these jobs that are queued, all at once. Not for jobs that others wait for."""
        self._database.execute(_SQL["kill_queued"], {"ids": json.dumps(job_ids), "at": at, "detail": detail})

    def skip_queued(self, job_ids: Iterable[int], at: float, detail: str) -> int:
        """Skip these jobs, except those that have started in the meantime; returns how many were skipped."""
        moved = self._database.execute_many(
            _SQL["finish_job"],
            [
                {"job_id": job_id, "before": State.QUEUED, "outcome": Outcome.SKIPPED, "at": at, "detail": detail}
                for job_id in job_ids
            ],
        )
        return max(moved.rowcount, 0)

    def retry(self, job: QueuedJob, before: State, verdict: Verdict, now: Now) -> None:
        """After an attempt that is not the last."""
        not_before = delayed(verdict.wait_s, now.wall, now.boot)
        losses = job.losses + 1 if verdict.is_loss else 0
        retries_used = job.retries_used + verdict.uses_retry
        self.requeue(job.id, before, retries_used, now.wall, verdict.detail, not_before, losses)

    def requeue(
        self,
        job_id: int,
        before: State,
        retries_used: int,
        at: float,
        detail: str,
        not_before: NotBefore = _AT_ONCE,
        losses: int = 0,
    ) -> None:
        check_transition(job_id, before, State.QUEUED)
        moved = self._database.execute(
            _SQL["requeue_job"],
            {
                "job_id": job_id,
                "before": before,
                "not_before": not_before[0],
                "not_before_boot": not_before[1],
                "boot_id": not_before[2],
                "retries_used": retries_used,
                "losses": losses,
                "at": at,
                "detail": detail,
            },
        )
        self._expect_moved(moved.rowcount, job_id, before, State.QUEUED)

    def _expect_moved(self, rowcount: int, job_id: int, before: State, after: State) -> None:
        """Raise unless the job was where we thought it was."""
        if rowcount == 1:
            return
        events = self._database.execute(_SQL["story"], {"job_id": job_id})
        story = ", ".join(f"{event['before']} to {event['after']}" for event in events)
        raise IllegalTransition(
            job_id, f"Job {job_id} was not {before} when it should have become {after}. Its history: {story}."
        )
