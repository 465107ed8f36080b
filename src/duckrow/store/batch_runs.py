"""What became of the runs of batches: their jobs and attempts, copied from the batch folders."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from duckrow.core.devices.inventory import WHOLE
from duckrow.core.life.states import Outcome, State
from duckrow.store.batches import RunRow
from duckrow.store.hosts import DAEMON
from duckrow.store.life.dependencies import DependencyStore
from duckrow.store.life.moves import MoveStore
from duckrow.store.life.reruns import RerunStore
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database, to_sql

_SQL = load_queries("batch_runs")


class BatchRunStore:
    """All writing happens within the caller's transaction."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._dependencies = DependencyStore(database)
        self._moves = MoveStore(database, self._dependencies)

    def saw_running(self, batch_id: int, run: RunRow, attempt: Mapping[str, Any], detail: str) -> None:
        if run.state is State.QUEUED:
            self._begin(run, attempt)
        self._put_attempt(batch_id, run.job_id, attempt, detail)
        state = State.STOPPING if attempt.get("stopping") else State.RUNNING
        if run.state is not state and (run.state, state) != (State.STOPPING, State.RUNNING):
            before = State.STARTING if run.state is State.QUEUED else run.state
            self._move(run.job_id, before, state, attempt["started_at"])
        self.database.execute(_SQL["note_detail"], {"job_id": run.job_id, "detail": detail})

    def saw_release(self, batch_id: int, run: RunRow, release: Mapping[str, Any]) -> None:
        """It was interrupted, and is queued again."""
        self.put_attempts(batch_id, run, release)
        if run.state is not State.QUEUED:
            at, why = release.get("at", time.time()), str(release.get("why", ""))
            self.database.execute(_SQL["close_attempts"], {"job_id": run.job_id, "at": at, "outcome": Outcome.LOST})
            self._move(run.job_id, run.state, State.QUEUED, at, why)

    def saw_result(self, batch_id: int, run: RunRow, result: Mapping[str, Any]) -> None:
        attempts = self.put_attempts(batch_id, run, result)
        at, outcome = result.get("ended_at") or time.time(), Outcome(result["outcome"])
        self.database.execute(_SQL["close_attempts"], {"job_id": run.job_id, "at": at, "outcome": outcome})
        before = run.state
        if before is State.QUEUED and attempts:
            self._begin(run, attempts[-1])
            before = State.STARTING
        self._moves.finish(run.job_id, before, outcome, at, result.get("detail", ""))

    def saw_rerun(self, batch_id: int, run: RunRow) -> None:
        """Jobs of the daemon that were skipped because of how it ended stay with the daemon."""
        RerunStore(self.database, self._moves, self._dependencies).rerun(run.job_id, time.time(), DAEMON)
        self.database.execute(_SQL["rehost"], {"job_id": run.job_id, "batch_id": batch_id})

    def saw_order(self, run: RunRow, held: bool, priority: int) -> None:
        self.database.execute(_SQL["note_order"], {"job_id": run.job_id, "held": held, "priority": priority})

    def _begin(self, run: RunRow, attempt: Mapping[str, Any]) -> None:
        values = {"job_id": run.job_id, "attempts": attempt["number"], "at": attempt["started_at"]}
        self.database.execute(_SQL["start"], values)

    def _move(self, job_id: int, before: State, after: State, at: float, detail: str = "") -> None:
        self._moves.move(job_id, before, after, at, detail)

    def put_attempts(self, batch_id: int, run: RunRow, told: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        attempts: list[Mapping[str, Any]] = list(told.get("attempts", []))
        where = f"on {told['node']}, in SLURM job {str(told['pilot']).rpartition('.')[0]}" if "node" in told else ""
        for attempt in attempts:
            self._put_attempt(batch_id, run.job_id, attempt, attempt.get("detail") or where)
        return attempts

    def _put_attempt(self, batch_id: int, job_id: int, attempt: Mapping[str, Any], detail: str) -> None:
        unknown = ("pid", "ended_at", "exit_code", "signal", "outcome", "peak_memory_mb", "utilization")
        values = {**dict.fromkeys(unknown), **{key: attempt[key] for key in unknown if key in attempt}}
        holds = json.dumps([[device, WHOLE] for device in attempt["devices"]])
        values |= {"job_id": job_id, "number": attempt["number"], "batch_id": batch_id, "holds": holds}
        values |= {"log": to_sql(attempt["log"]), "started_at": attempt["started_at"], "detail": detail}
        self.database.execute(_SQL["put_attempt"], values)
        self.database.execute(_SQL["count_attempts"], {"job_id": job_id, "attempts": attempt["number"]})
