"""A job with its latest attempt, as lists show it; and one that holds devices now."""

from __future__ import annotations

from duckrow.core.devices.device import Reservations
from duckrow.core.named_tuple import NamedTuple
from duckrow.store.attempts.reservation_json import reservations_from


class ListedJob(NamedTuple):
    # Of the job itself.
    id: int
    host_id: int
    project: str
    name: str
    command: str
    cwd: str
    gpus: int | None
    state: str
    outcome: str | None
    detail: str
    attempts: int
    retries: int
    requeue_lost: int
    timeout_s: float | None
    priority: int
    held: int
    not_before: float | None
    created_at: float
    changed_at: float
    outfile: str | None
    folder: str | None
    array_id: int | None
    array_index: int | None
    # Of the latest attempt; null if there is none.
    holds_text: str | None
    log: str | None
    started_at: float | None
    ended_at: float | None
    pid: int | None
    exit_code: int | None
    signal: int | None
    peak_memory_mb: int | None
    utilization: float | None
    # From other tables.
    host_name: str
    sweep: str | None
    parameters: str | None  # JSON
    suspended: int

    @property
    def holds(self) -> Reservations:
        return () if self.holds_text is None else reservations_from(self.holds_text)


OF_JOB = ListedJob._fields[: ListedJob._fields.index("holds_text")]
"""Its fields that are columns of the job itself."""


class LiveJob(NamedTuple):
    """A job with an attempt that has not ended, on this machine."""

    job_id: int
    holds_text: str
    started_at: float
    pid: int | None
    host_id: int  # the host that watches the attempt
    name: str
    project: str
    command: str
    cwd: str
    state: str
    needs: str | None
    job_host_id: int  # the host that the job belongs to
    array_index: int | None
    sweep: str | None

    @property
    def holds(self) -> Reservations:
        return reservations_from(self.holds_text)
