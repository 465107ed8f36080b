"""What the commands that answer ask of the database, each bounded or in one pass."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator

from duckrow.core.errors import JobGone
from duckrow.store.connection import load_queries
from duckrow.store.database import Database

_SQL = load_queries("answers")


class AnswerStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def durations(self, limit: int) -> list[sqlite3.Row]:
        """(project, name, sweep, duration_s) of the attempts that succeeded, newest first."""
        return self.database.all(_SQL["durations"], {"limit": limit})

    def queue_of_host(self, host_id: int, limit: int) -> Iterator[sqlite3.Row]:
        """(id, project, name, gpus, priority, sweep) of its jobs that may start, in order; stop when you like."""
        yield from self.database.execute(_SQL["queue_of_host"], {"host_id": host_id, "limit": limit})

    def unfinished(self) -> list[sqlite3.Row]:
        """All jobs that are not done, here and on clusters: id, state, host_id and the host's kind."""
        return self.database.all(_SQL["unfinished"])

    def waits_for_daemon(self) -> bool:
        return bool(self.database.one(_SQL["waits_for_daemon"]))

    def waiting_for_runs(self) -> list[sqlite3.Row]:
        """(host_id, name, jobs) of each run, over or not, that has jobs waiting. Without any run no job is read."""
        return self.database.all(_SQL["waiting_for_runs"]) if self.database.one(_SQL["any_run"]) else []

    def variable_names(self, job_id: int) -> list[str]:
        """The names of the variables that a job takes along. Their values stay here: they may be secrets."""
        return sorted(self.variables(job_id))

    def variables(self, job_id: int) -> dict[str, str]:
        """With their values: for those who mask what may be a secret."""
        written = self.database.one(_SQL["variables_of_job"], {"job_id": job_id})
        if written is None:
            raise JobGone(job_id)
        held: dict[str, str] = json.loads(written)
        return held

    def sweep_of(self, job_id: int) -> int | None:
        """The id of the sweep that a job is a point of."""
        found: int | None = self.database.one(_SQL["sweep_of"], {"job_id": job_id})
        return found

    def curve(self, job_id: int, number: int) -> sqlite3.Row | None:
        """(started_at, holds, curve) of an attempt."""
        rows = self.database.all(_SQL["curve"], {"job_id": job_id, "number": number})
        return rows[0] if rows else None

    def attempts_between(self, begin: float, end: float, limit: int) -> list[sqlite3.Row]:
        """The attempts that went on at some time between, the newest first."""
        return self.database.all(_SQL["attempts_between"], {"begin": begin, "end": end, "limit": limit})
