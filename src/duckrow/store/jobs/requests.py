"""Jobs as people submit them: adding them, and reading what was asked for."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence

from duckrow.core.clock import Now
from duckrow.core.devices.needs import Needs, needs_from
from duckrow.core.jobs.job import JobSpec
from duckrow.core.named_tuple import NamedTuple
from duckrow.store.jobs.columns import LISTS, as_asked
from duckrow.store.life.delays import delayed
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database, from_sql

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

_SQL = load_queries("requests", LISTS)

MANY = 16  # from this many jobs on, it is worth looking for what they have in common


class EarlierJob(NamedTuple):
    """An existing job, as it could be submitted again."""

    id: int
    host_id: int
    attempts: int  # how many there have been
    spec: JobSpec  # with all variables that it has


def insert_jobs(
    database: Database,
    host_id: int,
    specs: Sequence[JobSpec],
    first: int,
    environment_of: Callable[[JobSpec], int],
    now: Now | None,
) -> range:
    """Within the caller's transaction; returns the ids, from `first` on."""
    at, boot = (now.wall, now.boot) if now else (time.time(), time.clock_gettime(time.CLOCK_BOOTTIME))

    def row_of(job_id: int, spec: JobSpec) -> tuple[Any, ...]:
        array_id = None if spec.array_index is None else first
        when = (spec.not_before, None, None) if spec.delay_s is None else delayed(spec.delay_s, at, boot)
        return (*as_asked(spec), job_id, host_id, environment_of(spec), array_id, job_id, at, at, *when)

    def insert_each(first: int, specs: Sequence[JobSpec]) -> None:
        rows = [row_of(job_id, spec) for job_id, spec in enumerate(specs, start=first)]
        database.execute_many(_SQL["insert_job"], rows)

    if len(specs) < MANY:
        insert_each(first, specs)
    else:
        _insert_many(database, first, specs, row_of, environment_of, insert_each)
    points = [(job_id, *spec.point) for job_id, spec in enumerate(specs, start=first) if spec.point is not None]
    database.execute_many(_SQL["insert_point"], points)
    return range(first, first + len(specs))


def _insert_many(
    database: Database,
    first: int,
    specs: Sequence[JobSpec],
    row_of: Callable[[int, JobSpec], tuple[Any, ...]],
    environment_of: Callable[[JobSpec], int],
    insert_each: Callable[[int, Sequence[JobSpec]], None],
) -> None:
    from duckrow.store.jobs.alike import alike, insert_alike  # few commands add many jobs

    for some in alike(specs):
        if len(some) < MANY or not insert_alike(database, row_of(first, some[0]), some, environment_of):
            insert_each(first, some)
        first += len(some)


def asked_for(database: Database, ids: Iterable[int]) -> list[EarlierJob]:
    """Sorted by id."""
    return [_earlier_job(row) for row in database.all(_SQL["asked_for"], {"ids": json.dumps(list(ids))})]


def needs_of(database: Database, job_id: int) -> Needs:
    return needs_from(database.one(_SQL["needs_of"], {"job_id": job_id}))


def _earlier_job(row: sqlite3.Row) -> EarlierJob:
    values: dict[str, Any] = {
        key: from_sql(value) if isinstance(value, bytes) else value for key, value in dict(row).items()
    }
    job_id, host_id, attempts = (values.pop(key) for key in ("id", "host_id", "attempts"))
    values |= {"needs": needs_from(values["needs"]), "variables": json.loads(values["variables"])}
    values["requeue_lost"] = bool(values["requeue_lost"])
    return EarlierJob(job_id, host_id, attempts, JobSpec(**values))
