"""Batches in the database: which there are, and the rows of their runs, copied from what their folders say."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from duckrow.core.inventory import WHOLE
from duckrow.core.lifecycle import Outcome, State
from duckrow.store.connection import load_queries
from duckrow.store.database import Database, from_sql, to_sql
from duckrow.store.dependencies import DependencyStore
from duckrow.store.hosts import DAEMON, HostRow
from duckrow.store.jobs import JobStore
from duckrow.store.moves import MoveStore
from duckrow.store.reruns import RerunStore

if TYPE_CHECKING:
    from duckrow.core.job import JobSpec

_SQL = load_queries("batches")


class RunRow(NamedTuple):
    """A run as the database has it."""

    number: int
    job_id: int
    state: State
    attempts: int
    outcome: str | None
    held: bool
    priority: int


class Dependent(NamedTuple):
    """A run that waits for other jobs, as the database has it."""

    number: int
    blocked: bool
    skipped: str | None  # why it will never begin


class Standing(NamedTuple):
    """How a batch stands, by what SLURM last said of its jobs."""

    still: str = ""  # why nothing more is submitted for it; empty: more is, or need not be
    running: Sequence[str] = ()  # SLURM jobs
    waiting: Mapping[str, str] = {}  # SLURM jobs, and why
    held: Mapping[str, str] = {}  # those of them that SLURM will not start by itself


class BatchStore:
    """All writing happens within the caller's transaction."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._dependencies = DependencyStore(database)
        self._moves = MoveStore(database, self._dependencies)

    # -- which there are --------------------------------------------------------------------------------------

    def add(self, name: str, folder: str) -> int:
        values = {"name": name, "cwd": "", "source": to_sql(folder), "at": time.time()}
        host_id = self.database.execute(_SQL["add"], values).lastrowid
        assert host_id is not None
        return host_id

    def add_runs(self, host_id: int, specs: Sequence[JobSpec], environment: Mapping[str, str]) -> range:
        ids = JobStore(self.database).add(host_id, specs, environment)
        rows = [{"job_id": job_id, "host_id": host_id, "number": number} for number, job_id in enumerate(ids)]
        self.database.execute_many(_SQL["add_run"], rows)
        return ids

    def join(self, host_id: int, job_ids: Iterable[int], first: int) -> None:
        """Jobs that there are already become the runs from `first` on. Those that are done wait at the next look."""
        for number, job_id in enumerate(job_ids, start=first):
            values = {"job_id": job_id, "host_id": host_id, "number": number}
            self.database.execute(_SQL["join"], values)
            self.database.execute(_SQL["rehost_waiting"], values)

    def leave(self, job_ids: Iterable[int]) -> None:
        """They are no runs of a batch any more."""
        self.database.execute_many(_SQL["leave"], [{"job_id": job_id} for job_id in job_ids])

    def put_back(self, hosts: Mapping[int, int], runs: Mapping[int, tuple[int, int]]) -> None:
        """Undo `join`: each job belongs to this host again, and is this run of a batch, or none."""
        self.leave(hosts)
        for job_id, host_id in hosts.items():
            self.database.execute(_SQL["rehost"], {"job_id": job_id, "host_id": host_id})
        rows = [{"job_id": job_id, "host_id": host, "number": number} for job_id, (host, number) in runs.items()]
        self.database.execute_many(_SQL["join"], rows)

    def any_open(self) -> bool:
        return bool(self.database.one(_SQL["any_open"]))

    def any(self) -> bool:
        return bool(self.database.one(_SQL["any"]))

    def open_batches(self) -> list[HostRow]:
        """Those with runs that are not done."""
        return [_host(row) for row in self.database.all(_SQL["open"])]

    def batches(self) -> list[HostRow]:
        return [_host(row) for row in self.database.all(_SQL["all"])]

    def latest_closed(self) -> list[HostRow]:
        """Of those with runs that are all done, the last few."""
        return [_host(row) for row in self.database.all(_SQL["latest_closed"])]

    def forget(self, host_id: int) -> None:
        self.database.execute(_SQL["forget"], {"id": host_id})

    def last_asked(self, what: str) -> tuple[float, float]:
        """When SLURM was asked last, by the monotonic clock, and how long to wait before it is asked again.

        `what`: `asked`, to submit what is missing; `looked`, only to know how batches stand.
        """
        text = self.database.one(_SQL["last_asked"], {"key": f"slurm {what}"})
        mono, pause_s = json.loads(text) if text else (-math.inf, 0.0)
        return mono, pause_s

    def note_asked(self, what: str, pause_s: float) -> None:
        values = {"key": f"slurm {what}", "value": json.dumps([time.monotonic(), pause_s])}
        self.database.execute(_SQL["note_asked"], values)

    def standings(self) -> dict[int, Standing]:
        """By the ids of open batches, as SLURM was last asked."""
        rows = self.database.all(_SQL["standings"])
        return {row["id"]: Standing(*json.loads(row["value"])) for row in rows}

    def open_standings(self) -> dict[int, Standing]:
        """Nothing is read where no batch is open."""
        return self.standings() if self.any_open() else {}

    def note_standing(self, host_id: int, standing: Standing) -> None:
        value = json.dumps(standing)
        if self.database.one(_SQL["standing"], {"host_id": host_id}) != value:
            self.database.execute(_SQL["note_standing"], {"host_id": host_id, "value": value})

    def reopen(self, host_id: int) -> None:
        self.database.execute(_SQL["reopen"], {"id": host_id})

    def runs(self, host_id: int) -> list[RunRow]:
        rows = self.database.all(_SQL["runs"], {"host_id": host_id})
        return [RunRow(row[0], row[1], State(row[2]), row[3], row[4], bool(row[5]), row[6]) for row in rows]

    def dependents(self) -> dict[int, list[Dependent]]:
        """By open batches: their runs that wait, or have waited, for other jobs."""
        found: dict[int, list[Dependent]] = {}
        for row in self.database.all(_SQL["dependents"]):
            skipped = row["detail"] if row["outcome"] == Outcome.SKIPPED else None
            found.setdefault(row["host_id"], []).append(Dependent(row["number"], bool(row["blockers"]), skipped))
        return found

    def of_jobs(self, job_ids: Iterable[int]) -> dict[int, tuple[int, int]]:
        """Job -> (batch, number of the run), of those that are runs of batches."""
        rows = self.database.all(_SQL["of_jobs"], {"ids": json.dumps(list(job_ids))})
        return {row["job_id"]: (row["host_id"], row["number"]) for row in rows}

    # -- what has become of a run -----------------------------------------------------------------------------

    def saw_running(self, host_id: int, run: RunRow, attempt: Mapping[str, Any], detail: str) -> None:
        if run.state is State.QUEUED:
            self._begin(run, attempt)
        self._put_attempt(host_id, run.job_id, attempt, detail)
        state = State.STOPPING if attempt.get("stopping") else State.RUNNING
        if run.state is not state and (run.state, state) != (State.STOPPING, State.RUNNING):
            before = State.STARTING if run.state is State.QUEUED else run.state
            self._move(run.job_id, before, state, attempt["started_at"])
        self.database.execute(_SQL["note_detail"], {"job_id": run.job_id, "detail": detail})

    def saw_release(self, host_id: int, run: RunRow, release: Mapping[str, Any]) -> None:
        """It was interrupted, and waits again."""
        self.put_attempts(host_id, run, release)
        if run.state is not State.QUEUED:
            at, why = release.get("at", time.time()), str(release.get("why", ""))
            self.database.execute(_SQL["close_attempts"], {"job_id": run.job_id, "at": at, "outcome": Outcome.LOST})
            self._move(run.job_id, run.state, State.QUEUED, at, why)

    def saw_result(self, host_id: int, run: RunRow, result: Mapping[str, Any]) -> None:
        attempts = self.put_attempts(host_id, run, result)
        at, outcome = result.get("ended_at") or time.time(), Outcome(result["outcome"])
        self.database.execute(_SQL["close_attempts"], {"job_id": run.job_id, "at": at, "outcome": outcome})
        before = run.state
        if before is State.QUEUED and attempts:
            self._begin(run, attempts[-1])
            before = State.STARTING
        self._moves.finish(run.job_id, before, outcome, at, result.get("detail", ""))

    def saw_rerun(self, host_id: int, run: RunRow) -> None:
        """Jobs of the daemon that were skipped because of how it had ended stay with the daemon."""
        RerunStore(self.database, self._moves, self._dependencies).rerun(run.job_id, time.time(), DAEMON)
        self.database.execute(_SQL["rehost"], {"job_id": run.job_id, "host_id": host_id})

    def saw_order(self, run: RunRow, held: bool, priority: int) -> None:
        self.database.execute(_SQL["note_order"], {"job_id": run.job_id, "held": held, "priority": priority})

    def _begin(self, run: RunRow, attempt: Mapping[str, Any]) -> None:
        values = {"job_id": run.job_id, "attempts": attempt["number"], "at": attempt["started_at"]}
        self.database.execute(_SQL["start"], values)

    def _move(self, job_id: int, before: State, after: State, at: float, detail: str = "") -> None:
        self._moves.move(job_id, before, after, at, detail)

    def put_attempts(self, host_id: int, run: RunRow, told: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        attempts: list[Mapping[str, Any]] = list(told.get("attempts", []))
        where = f"on {told['node']}, in SLURM job {str(told['pilot']).rpartition('.')[0]}" if "node" in told else ""
        for attempt in attempts:
            self._put_attempt(host_id, run.job_id, attempt, attempt.get("detail") or where)
        return attempts

    def _put_attempt(self, host_id: int, job_id: int, attempt: Mapping[str, Any], detail: str) -> None:
        unknown = ("pid", "ended_at", "exit_code", "signal", "outcome", "peak_memory_mb", "utilization")
        values = {**dict.fromkeys(unknown), **{key: attempt[key] for key in unknown if key in attempt}}
        holds = json.dumps([[device, WHOLE] for device in attempt["devices"]])
        values |= {"job_id": job_id, "number": attempt["number"], "host_id": host_id, "holds": holds}
        values |= {"log": to_sql(attempt["log"]), "started_at": attempt["started_at"], "detail": detail}
        self.database.execute(_SQL["put_attempt"], values)
        self.database.execute(_SQL["count_attempts"], {"job_id": job_id, "attempts": attempt["number"]})


def _host(row: Sequence[object]) -> HostRow:
    return HostRow._make(from_sql(value) if isinstance(value, bytes) else value for value in row)
