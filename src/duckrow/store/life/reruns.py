"""Runs finished jobs again: because somebody asked for it, or because the machine was to blame for how they ended."""

from __future__ import annotations

from duckrow.core.life.states import State
from duckrow.store.life.dependencies import DependencyStore
from duckrow.store.life.moves import MoveStore
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

_SQL = load_queries("reruns")


class RerunStore:
    def __init__(self, database: Database, moves: MoveStore, dependencies: DependencyStore) -> None:
        self._database = database
        self._moves = moves
        self._dependencies = dependencies

    def rerun(
        self, job_id: int, at: float, new_host_id: int, retries_used: int = 0, detail: str = "rerun asked for"
    ) -> None:
        """Queue it again, and the jobs that were skipped because of how it ended."""
        self._queue(job_id, at, new_host_id, retries_used, detail)
        for dependent in self._dependencies.wait_again(job_id):
            self._queue(dependent, at, new_host_id, 0, detail)

    def go_back(
        self, job_id: int, attempt: int, host_id: int, retries_used: int, at: float, detail: str
    ) -> State | None:
        """Undo what followed from this failure: the job waits again. Returns its state before; None: it is too late."""
        values = {"job_id": job_id, "attempt": attempt, "retries_used": retries_used, "detail": detail}
        row = self._database.execute(_SQL["failed_attempt"], values).fetchone()
        if row is None:
            return None
        if row["state"] == State.QUEUED:  # for a retry, which this failure does not use up
            self._database.execute(_SQL["spare_retry"], values)
        else:
            self.rerun(job_id, at, host_id, retries_used, detail)
        return State(row["state"])

    def _queue(self, job_id: int, at: float, new_host_id: int, retries_used: int, detail: str) -> None:
        self._moves.requeue(job_id, State.DONE, retries_used, at, detail)
        # A run on a cluster goes back into its batch, whatever host was given.
        self._database.execute(_SQL["rehost_again"], {"job_id": job_id, "host_id": new_host_id})
        self._database.execute(_SQL["reopen_batch"], {"job_id": job_id})
