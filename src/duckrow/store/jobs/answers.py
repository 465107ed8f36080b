"""Queries for the commands that answer questions, each bounded or in one pass."""

from __future__ import annotations

import json
from collections.abc import Sequence

from duckrow.core.devices.device import Reservations
from duckrow.core.errors import JobGone
from duckrow.core.memory.use import Point
from duckrow.core.named_tuple import NamedTuple
from duckrow.store.attempts.reservation_json import reservations_from
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from duckrow.core.schedule.run_times import RunTimes

_SQL = load_queries("answers")


class TimeTaken(NamedTuple):
    project: str
    name: str
    command: str
    cwd: str
    needs: str | None
    sweep: str | None
    duration_s: float


class JobOfRun(NamedTuple):
    id: int
    host_id: int


class UseOverTime(NamedTuple):
    started_at: float
    holds: Reservations
    points: list[Point]  # in seconds since the start


class AttemptSpan(NamedTuple):
    """When and where an attempt ran."""

    job_id: int
    number: int
    holds_text: str
    started_at: float
    ended_at: float | None
    outcome: str | None
    name: str
    array_index: int | None
    project: str
    host: str

    @property
    def holds(self) -> Reservations:
        return reservations_from(self.holds_text)


class AnswerStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def any_succeeded(self) -> bool:
        """Whether any job has: without one, no run time is known."""
        return bool(self.database.one(_SQL["any_succeeded"]))

    def any_run_times(self, limit: int, least_s: float) -> bool:
        """Whether `run_times` knows any."""
        return self.database.one(_SQL["durations"], {"limit": limit, "least_s": least_s}) is not None

    def run_times(self, limit: int, least_s: float = 0.0) -> RunTimes:
        """What the latest attempts that succeeded tell. `limit`: how many to look at; shorter ones are left out."""
        from duckrow.core.schedule.run_times import RunTimes  # most listings need no ETA

        times = RunTimes()
        for row in self.database.values(TimeTaken, _SQL["durations"], {"limit": limit, "least_s": least_s}):
            times.note(row, row.duration_s, row.sweep)
        return times

    def noted(self, ids: Sequence[int], detail: str, since: float) -> set[int]:
        """Those of these jobs whose history says this since then."""
        values = {"ids": json.dumps(list(ids)), "detail": detail, "since": since}
        return {row["job_id"] for row in self.database.all(_SQL["noted"], values)}

    def unfinished(self) -> list[int]:
        """All jobs that are not done, here and on clusters."""
        return list(self.database.numbers(_SQL["unfinished"]))

    def waiting_for_runs(self) -> list[JobOfRun]:
        """The jobs that wait for a `duckrow run`, whether it lives or not."""
        return self.database.values(JobOfRun, _SQL["waiting_for_runs"])

    def variable_names(self, job_id: int) -> list[str]:
        """The names of a job's variables. Their values stay here: they may be secrets."""
        return sorted(self.variables(job_id))

    def variables(self, job_id: int) -> dict[str, str]:
        """With their values: for callers that mask what may be a secret."""
        written = self.database.one(_SQL["variables_of_job"], {"job_id": job_id})
        if written is None:
            raise JobGone(job_id)
        held: dict[str, str] = json.loads(written)
        return held

    def sweep_of(self, job_id: int) -> int | None:
        """The id of the sweep that a job is a point of."""
        found: int | None = self.database.one(_SQL["sweep_of"], {"job_id": job_id})
        return found

    def curve(self, job_id: int, number: int) -> UseOverTime | None:
        for row in self.database.all(_SQL["curve"], {"job_id": job_id, "number": number}):
            points = [(after_s, mb, busy) for after_s, mb, busy in json.loads(row["curve"] or "[]")]
            return UseOverTime(row["started_at"], reservations_from(row["holds"]), points)
        return None

    def attempts_between(self, begin: float, end: float, limit: int) -> list[AttemptSpan]:
        """The attempts that ran at some time in between, newest first."""
        values = {"begin": begin, "end": end, "limit": limit}
        return self.database.values(AttemptSpan, _SQL["attempts_between"], values)
