"""The batches: which exist, which jobs are their runs, and what the cluster last reported about them."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence

from duckrow.core.life.states import Outcome, State
from duckrow.core.named_tuple import NamedTuple
from duckrow.store.jobs.jobs import JobStore
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database, from_sql, to_sql

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from duckrow.core.jobs.job import JobSpec

_SQL = load_queries("batches")


class BatchRow(NamedTuple):
    """A batch as stored. Its id is the `host_id` of its jobs and attempts."""

    id: int
    name: str
    folder: str
    created_at: float
    closed_at: float | None  # when all its runs were seen to be done


class RunRow(NamedTuple):
    """A run as stored."""

    number: int
    job_id: int
    state: State
    attempts: int
    outcome: str | None
    held: bool
    priority: int


class RunOfBatch(NamedTuple):
    """Which run of which batch a job is."""

    batch_id: int
    number: int


class Dependent(NamedTuple):
    """A run that waits for other jobs, as stored."""

    number: int
    blocked: bool
    skipped: str | None  # why it will never start


class GroupStanding(NamedTuple):
    """The status of those runs of a batch that ask for the same thing."""

    asks: str  # what the others do not ask for
    jobs: Sequence[str]  # cluster jobs that were submitted for them
    still: str = ""  # why no more are submitted


class Standing(NamedTuple):
    """The status of a batch, by what the cluster last reported about its jobs."""

    still: str = ""  # why nothing more is submitted for it; empty: more is, or need not be
    running: Sequence[str] = ()  # cluster jobs
    waiting: Mapping[str, str] = {}  # cluster job -> why it waits
    held: Mapping[str, str] = {}  # those of them that the cluster will not start by itself
    groups: Sequence[GroupStanding] = ()  # if runs ask for different things

    def of_group(self, group: int) -> Standing:
        """The same for the runs of one group."""
        of = self.groups[group]
        waiting, held = (
            {job: why for job, why in jobs.items() if job in of.jobs} for jobs in (self.waiting, self.held)
        )
        return Standing(of.still or self.still, [job for job in self.running if job in of.jobs], waiting, held)


class BatchStore:
    """Adding, closing and noting happen within the caller's transaction."""

    def __init__(self, database: Database) -> None:
        self.database = database

    # -- which there are --------------------------------------------------------------------------------------

    def add(self, name: str, folder: str) -> int:
        batch_id = self.database.execute(_SQL["add_owner"], {"name": name}).lastrowid
        assert batch_id is not None
        self.database.execute(_SQL["add"], {"id": batch_id, "folder": to_sql(folder), "at": time.time()})
        return batch_id

    def any(self) -> bool:
        return bool(self.database.one(_SQL["any"]))

    def any_open(self) -> bool:
        return bool(self.database.one(_SQL["any_open"]))

    def all(self) -> list[BatchRow]:
        return [_batch(row) for row in self.database.all(_SQL["all"])]

    def open(self) -> list[BatchRow]:
        """Those with runs that are not done."""
        return [_batch(row) for row in self.database.all(_SQL["open"])]

    def latest_closed(self) -> list[BatchRow]:
        """The last few of those whose runs are all done."""
        return [_batch(row) for row in self.database.all(_SQL["latest_closed"])]

    def get(self, batch_id: int) -> BatchRow:
        return self.among([batch_id])[batch_id]

    def among(self, ids: Iterable[int]) -> dict[int, BatchRow]:
        """Which of these owners of jobs are batches: by id, the oldest first."""
        rows = self.database.all(_SQL["with_ids"], {"ids": json.dumps(list(ids))})
        return {row["id"]: _batch(row) for row in rows}

    def close(self, batch_id: int) -> None:
        """Nobody needs to look at it any more."""
        self.database.execute(_SQL["close"], {"id": batch_id, "at": time.time()})

    def reopen(self, batch_id: int) -> None:
        self.database.execute(_SQL["reopen"], {"id": batch_id})

    def forget(self, batch_id: int) -> None:
        self.database.execute(_SQL["forget"], {"id": batch_id})
        self.database.execute(_SQL["forget_owner"], {"id": batch_id})

    # -- their runs -------------------------------------------------------------------------------------------

    def add_runs(self, batch_id: int, specs: Sequence[JobSpec], environment: Mapping[str, str]) -> range:
        ids = JobStore(self.database).add(batch_id, specs, environment)
        rows = [{"job_id": job_id, "batch_id": batch_id, "number": number} for number, job_id in enumerate(ids)]
        self.database.execute_many(_SQL["add_run"], rows)
        return ids

    def join(self, batch_id: int, job_ids: Iterable[int], first: int) -> None:
        """Existing jobs become the runs from `first` on. Those that are done are queued again at the next look."""
        for number, job_id in enumerate(job_ids, start=first):
            values = {"job_id": job_id, "batch_id": batch_id, "number": number}
            self.database.execute(_SQL["join"], values)
            self.database.execute(_SQL["rehost_waiting"], values)

    def leave(self, job_ids: Iterable[int]) -> None:
        """They no longer belong to a batch."""
        self.database.execute_many(_SQL["leave"], [{"job_id": job_id} for job_id in job_ids])

    def put_back(self, hosts: Mapping[int, int], runs: Mapping[int, RunOfBatch]) -> None:
        """Undo `join`: each job belongs to this host again, and is this run of a batch, or of none."""
        self.leave(hosts)
        for job_id, host_id in hosts.items():
            self.database.execute(_SQL["rehost"], {"job_id": job_id, "host_id": host_id})
        rows = [{"job_id": job_id, **run._asdict()} for job_id, run in runs.items()]
        self.database.execute_many(_SQL["join"], rows)

    def runs(self, batch_id: int) -> list[RunRow]:
        rows = self.database.all(_SQL["runs"], {"batch_id": batch_id})
        return [RunRow(row[0], row[1], State(row[2]), row[3], row[4], bool(row[5]), row[6]) for row in rows]

    def of_jobs(self, job_ids: Iterable[int]) -> dict[int, RunOfBatch]:
        """Which of these jobs are runs of batches."""
        rows = self.database.all(_SQL["of_jobs"], {"ids": json.dumps(list(job_ids))})
        return {row["job_id"]: RunOfBatch(row["batch_id"], row["number"]) for row in rows}

    def dependents(self) -> dict[int, list[Dependent]]:
        """For each open batch: its runs that wait, or have waited, for other jobs."""
        found: dict[int, list[Dependent]] = {}
        for row in self.database.all(_SQL["dependents"]):
            skipped = row["detail"] if row["outcome"] == Outcome.SKIPPED else None
            found.setdefault(row["batch_id"], []).append(Dependent(row["number"], bool(row["blockers"]), skipped))
        return found

    # -- what the cluster said of them ------------------------------------------------------------------------

    def last_asked(self, what: str) -> tuple[float, float]:
        """When the cluster was last asked, by the monotonic clock, and how long to wait before asking again.

        `what`: `asked`, to submit what is missing; `looked`, only to know the status of batches.
        """
        text = self.database.one(_SQL["last_asked"], {"key": f"slurm {what}"})
        mono, pause_s = json.loads(text) if text else (-math.inf, 0.0)
        return mono, pause_s

    def note_asked(self, what: str, pause_s: float) -> None:
        values = {"key": f"slurm {what}", "value": json.dumps([time.monotonic(), pause_s])}
        self.database.execute(_SQL["note_asked"], values)

    def standings(self) -> dict[int, Standing]:
        """By the ids of open batches, as of the last time the cluster was asked."""
        rows = self.database.all(_SQL["standings"])
        return {row["id"]: _standing_from(row["standing"]) for row in rows}

    def note_standing(self, batch_id: int, standing: Standing) -> None:
        self.database.execute(_SQL["note_standing"], {"id": batch_id, "standing": json.dumps(standing)})


def _batch(row: Sequence[object]) -> BatchRow:
    return BatchRow._make(from_sql(value) if isinstance(value, bytes) else value for value in row)


def _standing_from(value: str) -> Standing:
    standing = Standing(*json.loads(value))
    return standing._replace(groups=tuple(GroupStanding(*group) for group in standing.groups))
