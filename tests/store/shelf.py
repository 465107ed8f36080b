"""A database with what tests of the store do with it, each in a transaction of its own."""

from __future__ import annotations

from typing import Any

from duckrow.core.clock import Now
from duckrow.core.devices.device import reservations
from duckrow.core.devices.inventory import WHOLE
from duckrow.core.jobs.attempt import Exit, LiveAttempt
from duckrow.core.jobs.job import JobSpec
from duckrow.core.life.retry import Verdict
from duckrow.core.life.states import Outcome, State
from duckrow.store.hosts import DAEMON, HostStore
from duckrow.store.jobs.history import JobStoryStore
from duckrow.store.jobs.jobs import JobStore
from duckrow.store.life.delays import DelayStore
from duckrow.store.sqlite.database import Database
from duckrow.store.tick import TickStores


def at(wall: float) -> Now:
    """A moment of a machine that was booted at 500 and has slept for 200 seconds."""
    return Now(wall, wall - 700, wall - 500)


class Shelf:
    def __init__(self, database: Database) -> None:
        self.database = database
        self.jobs = JobStore(database)
        self.hosts = HostStore(database)
        self.tick = TickStores(database, DAEMON)
        self.delays = DelayStore(database)
        self.story = JobStoryStore(database)

    def add(self, *commands: str, host_id: int = DAEMON, **fields: Any) -> list[int]:
        specs = [JobSpec(command, fields.pop("cwd", "/work"), **fields) for command in commands or ("true",)]
        with self.database.transaction():
            return list(self.jobs.add(host_id, specs, {"A": "1"}))

    def head(self, limit: int = 100) -> list[int]:
        """The ids of the jobs that could start now, in order."""
        return [job.id for job in self.tick.queue.eligible(limit)]

    def attempt_of(self, job_id: int, **fields: Any) -> LiveAttempt:
        """An attempt at a job that waits, as the scheduler makes it."""
        job = next(job for job in self.tick.queue.eligible(1000) if job.id == job_id)
        values: dict[str, Any] = {
            "number": job.attempts + 1,
            "keeper": "keeper-1",
            "started": at(fields.pop("started_at", 1000.0)),
            "log": "/logs/attempt.log",
            "job_host_id": DAEMON,
        }
        holds = reservations(fields.pop("holds", [("0", WHOLE)]))
        return LiveAttempt(job=job, holds=holds, **{**values, **fields})

    def start(self, job_id: int, **fields: Any) -> LiveAttempt:
        attempt = self.attempt_of(job_id, **fields)
        with self.database.transaction():
            self.tick.attempts.start(attempt)
        return attempt

    def run(self, job_id: int, **fields: Any) -> LiveAttempt:
        attempt = self.start(job_id, **fields)
        with self.database.transaction():
            attempt.has_process(4242)
            self.tick.attempts.running(attempt, 1001.0)
        return attempt

    def finish(self, attempt: LiveAttempt, outcome: Outcome = Outcome.SUCCEEDED, at: float = 1010.0) -> None:
        attempt.note_exit(Exit(0 if outcome is Outcome.SUCCEEDED else 1))
        with self.database.transaction():
            assert self.tick.attempts.finish(attempt, outcome, at, "")
            self.tick.moves.finish(attempt.job.id, attempt.state, outcome, at, "")

    def requeue(self, attempt: LiveAttempt, verdict: Verdict, now: Now | None = None) -> None:
        with self.database.transaction():
            now = now or at(1010.0)
            self.tick.attempts.finish(attempt, verdict.outcome, now.wall, verdict.detail)
            self.tick.moves.retry(attempt.job, attempt.state, verdict, now)

    def release(self, now: Now) -> None:
        with self.database.transaction():
            self.delays.release(now)

    def state(self, job_id: int) -> State:
        return State(self.database.one("SELECT state FROM jobs WHERE id = ?", (job_id,)))

    def change(self, statement: str, *values: Any) -> None:
        with self.database.transaction():
            self.database.execute(statement, values)
