"""Changing queued jobs: order, holds, edits, removal, dependencies, limits, devices."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from duckrow.core.errors import JobGone
from duckrow.core.jobs.editing import EDITABLE
from duckrow.core.life.dependencies import AwaitedJob
from duckrow.core.named_tuple import NamedTuple
from duckrow.store.devices.wishes import DeviceWishStore
from duckrow.store.jobs.columns import LISTS
from duckrow.store.life.dependencies import DependencyStore
from duckrow.store.limits import LimitStore
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database, slices, to_sql

_SQL = load_queries("control", LISTS)
_RECORDED = (
    *("remove_attempts", "remove_points", "remove_events"),
    *("remove_dependencies", "remove_batch_runs", "remove_wishes"),
)


class QueuePosition(NamedTuple):
    priority: int
    position: float


class EndOfJob(NamedTuple):
    state: str
    outcome: str | None  # set if the state is done


class JobAhead(NamedTuple):
    id: int
    gpus: int | None
    needs: str | None
    priority: int
    created_at: float


class WaitingFacts(NamedTuple):
    """What decides whether a job can start."""

    id: int
    host_id: int
    project: str
    name: str
    command: str
    cwd: str
    gpus: int | None
    needs: str | None
    held: int
    not_before: float | None
    priority: int
    position: float
    array_id: int | None
    state: str
    outcome: str | None
    detail: str
    created_at: float
    timeout_s: float | None
    grace_s: float
    attempts: int  # how many there have been
    suspended: int


class ControlStore:
    """Each method returns the jobs that it applied to. Few jobs are one transaction, many are a few slices."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def set_held(self, ids: Iterable[int], held: bool) -> list[int]:
        return self._each("set_held", ids, {"held": held})

    def set_priority(self, ids: Iterable[int], priority: int) -> list[int]:
        return self._each("set_priority", ids, {"priority": priority})

    def rehost(self, ids: Iterable[int], host_id: int) -> list[int]:
        """Give jobs that wait for a dead host to another."""
        return self._each("rehost", ids, {"host_id": host_id})

    def _each(self, statement: str, ids: Iterable[int], values: Mapping[str, Any]) -> list[int]:
        """Returns the jobs that were still queued, and so were changed."""
        changed: list[int] = []
        for some in slices(list(ids)):
            with self.database.transaction():
                queued = [row[0] for row in self._run("queued_among", {"ids": json.dumps(some)})]
                self._run(statement, {"ids": json.dumps(queued), **values})
            changed += queued
        return changed

    def _run(self, statement: str, values: Mapping[str, Any]) -> sqlite3.Cursor:
        return self.database.execute(_SQL[statement], values)

    # -- order ------------------------------------------------------------------------------------------------

    def positions_of(self, job_ids: Iterable[int]) -> dict[int, QueuePosition]:
        """For each job that still exists."""
        found = ((job_id, self._run("place_of", {"id": job_id}).fetchone()) for job_id in job_ids)
        return {job_id: QueuePosition(row["priority"], row["position"]) for job_id, row in found if row is not None}

    def place(self, places: Iterable[tuple[int, int, float]]) -> list[int]:
        """Put each (id, priority, position) there; returns those that were still queued."""
        with self.database.transaction():
            return [
                job_id
                for job_id, priority, position in places
                if self._run("set_position", {"id": job_id, "priority": priority, "position": position}).rowcount
            ]

    # -- editing and removing ---------------------------------------------------------------------------------

    def spec_of(self, job_id: int) -> dict[str, Any]:
        spec = dict(self._row_of("spec_of", job_id))
        return {**spec, "requeue_lost": bool(spec["requeue_lost"])}

    def edit(self, job_id: int, changes: Mapping[str, Any]) -> bool:
        """Change a queued job; False if it has started meanwhile."""
        return self._edit([job_id], changes, "queued") == 1

    def edit_done(self, job_ids: Iterable[int], changes: Mapping[str, Any]) -> None:
        """Change jobs that are done, before they are run again."""
        self._edit(job_ids, changes, "done")

    def _edit(self, job_ids: Iterable[int], changes: Mapping[str, Any], state: str) -> int:
        """Returns how many of these were in this state, and so were changed."""
        assert set(changes) <= set(EDITABLE)
        columns = ", ".join(f"{column} = :{column}" for column in changes)
        values = {key: to_sql(value) if isinstance(value, str) else value for key, value in changes.items()}
        statement = f"UPDATE jobs SET {columns} WHERE id = :id AND state = '{state}'"
        with self.database.transaction():
            return sum(self.database.execute(statement, {"id": job_id, **values}).rowcount for job_id in job_ids)

    def remove(self, job_ids: Iterable[int]) -> list[int]:
        """Forget queued or finished jobs, with all that is recorded about them; returns those that were removed."""
        with self.database.transaction():
            removed = [job_id for job_id in job_ids if self._remove_job(job_id)]
            for what in _RECORDED:  # for all of them at once: some of these tables are read from end to end
                self._run(what, {"ids": json.dumps(removed)})
        return removed

    def _remove_job(self, job_id: int) -> bool:
        """False if it is running, or if another job waits for it."""
        key = {"id": job_id}
        return self._run("waiting_for", key).fetchone() is None and self._run("remove_job", key).rowcount == 1

    def waiting_for(self, job_id: int) -> list[int]:
        return [row[0] for row in self.database.all(_SQL["waiting_for"], {"id": job_id})]

    def older_than(self, before: float) -> list[int]:
        """Jobs that were done before then."""
        return [row[0] for row in self.database.all(_SQL["old_jobs"], {"before": before})]

    def waiting_of(self, host_id: int, before: float) -> list[int]:
        """Jobs that have waited for this host since before then."""
        return [row[0] for row in self.database.all(_SQL["waiting_of_host"], {"host_id": host_id, "before": before})]

    # -- dependencies -----------------------------------------------------------------------------------------

    def end_of(self, job_id: int) -> EndOfJob:
        row = self._row_of("outcome_of", job_id)
        return EndOfJob(row["state"], row["outcome"])

    def add_dependencies(self, job_ids: Iterable[int], on: Iterable[tuple[int, str]]) -> None:
        """Within the caller's transaction: these jobs wait for those, each (job, condition)."""
        DependencyStore(self.database).add(job_ids, on)

    def dependencies_of(self, job_id: int) -> list[AwaitedJob]:
        return self.database.values(AwaitedJob, _SQL["dependencies_of"], {"id": job_id})

    # -- limits and devices -----------------------------------------------------------------------------------

    def set_limit(self, scope: str, max_running: int | None) -> None:
        """Within the caller's transaction."""
        LimitStore(self.database).set(scope, max_running)

    def limits(self) -> dict[str, int]:
        return LimitStore(self.database).all()

    def running_of(self, host_id: int, project: str, array_id: int | None) -> tuple[int, int]:
        """How many jobs of a project, and of an array, run on a host."""
        values = {"host_id": host_id, "project": project, "array_id": array_id}
        row = self.database.all(_SQL["running_of"], values)[0]
        return row["of_project"], row["of_array"]

    def wish_of_device(self, device: str, wish: str | None) -> None:
        wishes = DeviceWishStore(self.database)
        with self.database.transaction():
            if wish is None:
                wishes.forget(device)
            else:
                wishes.wish(device, wish)

    def device_wishes(self) -> dict[str, str]:
        return DeviceWishStore(self.database).all()

    # -- why --------------------------------------------------------------------------------------------------

    def waiting_facts(self, job_id: int) -> WaitingFacts:
        found = self.database.values(WaitingFacts, _SQL["waiting_facts"], {"id": job_id})
        if not found:
            raise JobGone(job_id)
        return found[0]

    def _row_of(self, query: str, job_id: int) -> sqlite3.Row:
        """For a job that may have been removed meanwhile."""
        rows = self.database.all(_SQL[query], {"id": job_id})
        if not rows:
            raise JobGone(job_id)
        return rows[0]

    def ahead(self, host_id: int, priority: int, position: float) -> tuple[list[JobAhead], int]:
        """The first of the jobs ahead of this place, and how many there are."""
        here = {"host_id": host_id, "priority": priority, "position": position}
        first = self.database.values(JobAhead, _SQL["first_ahead"], here)
        return first, int(self.database.one(_SQL["count_ahead"], here))
