"""Makes attempts of jobs: with a number, a keeper, a log and reservations."""

from __future__ import annotations

from duckrow.core.clock import Now
from duckrow.core.devices.device import Reservations
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import QueuedJob
from duckrow.scheduler.state.host_state import HostState
from duckrow.store.folder.state_folder import Folder


class NewAttempts:
    def __init__(self, state: HostState, folder: Folder, keeper: str) -> None:
        """`keeper`: the name of the journal where the engine records what it starts."""
        self._state = state
        self._folder = folder
        self._keeper = keeper

    def start(self, job: QueuedJob, holds: Reservations, now: Now) -> LiveAttempt:
        attempt = self._made(job, holds, now)
        self._state.start(attempt)
        return attempt

    def line_up(self, job: QueuedJob, holds: Reservations, behind: int, now: Now) -> LiveAttempt:
        """An attempt that is lined up behind this one, and holds the same devices."""
        attempt = self._made(job, holds, now)
        self._state.line_up(attempt, behind)
        return attempt

    def _made(self, job: QueuedJob, holds: Reservations, now: Now) -> LiveAttempt:
        number = job.attempts + 1
        return LiveAttempt(
            number=number,
            job=job,
            keeper=self._keeper,
            holds=holds,
            started=now,
            log=job.outfile or f"{self.folder_of(job)}/attempt-{number}.log",
            job_host_id=self._state.host_id,
        )

    def folder_of(self, job: QueuedJob) -> str:
        return job.folder or self._folder.run_folder(job.project, job.name, job.id)
