"""The jobs that wait for a host: the head of its queue, and what is left of it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from duckrow.core.devices.needs import Needs
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.life.states import State
from duckrow.store.jobs.columns import LISTS
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database, from_sql

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

_SQL = load_queries("queue", LISTS)


class QueueStore:
    def __init__(self, database: Database, host_id: int) -> None:
        self._database = database
        self._host_id = host_id

    def eligible(self, limit: int, full: Iterable[str] = (), without: Collection[int] = ()) -> list[QueuedJob]:
        """The head of the queue, without these jobs, and without those of scopes that are full."""
        if self._database.one(_SQL["is_paused"]):
            return []  # asked separately: within the query, each of a million jobs would be checked
        values = {
            "host_id": self._host_id,
            "limit": limit,
            "full": json.dumps(sorted(full)),
            "without": json.dumps(list(without)),
        }
        return self._database.values(QueuedJob, _SQL["eligible"], values)

    def is_unfinished(self, without: Collection[int] = ()) -> bool:
        """Whether any job of this host is not done, except for these."""
        if without:
            return any(job_id not in without for job_id, _ in self.unfinished())
        return self._database.one(f"{_SQL['unfinished']} LIMIT 1", {"host_id": self._host_id}) is not None

    def unfinished(self) -> list[tuple[int, State]]:
        """(job, state) of each job of this host that is not done."""
        rows = self._database.execute(_SQL["unfinished"], {"host_id": self._host_id})
        return [(row["id"], State(row["state"])) for row in rows]

    def state_of(self, job_id: int) -> State:
        return State(self._database.execute(_SQL["state_of"], {"job_id": job_id}).fetchone()[0])

    def paused_projects(self) -> list[str]:
        """The pauses that keep jobs of this host waiting; the empty name is the pause of everything."""
        return [row[0] for row in self._database.all(_SQL["paused_projects"], {"host_id": self._host_id})]

    def rehost(self, job_ids: Iterable[int]) -> None:
        """Take jobs that wait for a dead host."""
        values = [{"id": job_id, "host_id": self._host_id} for job_id in job_ids]
        self._database.execute_many(_SQL["rehost"], values)

    def hold(self, job_id: int) -> None:
        """Hold a queued job: it does not start until it is released."""
        self._database.execute(_SQL["hold"], {"job_id": job_id})

    def set_needs(self, job_id: int, needs: Needs) -> None:
        """Record what was learned about a job."""
        self._database.execute(_SQL["set_needs"], {"job_id": job_id, "needs": needs.as_text()})


def queued_job(values: Iterable[Any]) -> QueuedJob:
    """From the columns that are named like its fields."""
    return QueuedJob._make([from_sql(value) if value.__class__ is bytes else value for value in values])
