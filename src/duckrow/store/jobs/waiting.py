"""The jobs that wait: for which hosts, how many, and in which order. It reads as many rows as it returns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from duckrow.core.named_tuple import NamedTuple
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

WAITING = {
    "ready": "state = 'queued' AND held = 0 AND not_before IS NULL AND blockers = 0",
    "not_ready": "state = 'queued' AND (held <> 0 OR not_before IS NOT NULL OR blockers <> 0)",
}
"""What a queued job waits for: only a device, or something else too. Each has an index with these very words."""

_SQL = load_queries("waiting", WAITING)
_MOST_HOSTS = 100  # SQLite joins up to 500 queries


class WaitingHost(NamedTuple):
    """A host for which jobs wait, whether it lives or not."""

    id: int
    kind: str
    name: str
    source: str


class JobInQueue(NamedTuple):
    id: int
    project: str
    name: str
    gpus: int | None
    priority: int
    command: str
    cwd: str
    needs: str | None
    sweep: str | None


class WaitingStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def hosts(self) -> list[WaitingHost]:
        return self.database.values(WaitingHost, _SQL["hosts"])

    def count(self, host_ids: Iterable[int]) -> int:
        """How many jobs wait for these hosts."""
        return int(self.database.one(_SQL["count"], {"hosts": json.dumps(list(host_ids))}))

    def any_unheld(self, host_id: int) -> bool:
        """Whether a job waits for this host that nobody holds."""
        return bool(self.database.one(_SQL["unheld"], {"host_id": host_id}))

    def queue_of_host(self, host_id: int, limit: int) -> Iterator[JobInQueue]:
        """Its jobs that may start, in order; you can stop reading at any time."""
        return self.database.each(JobInQueue, _SQL["queue_of_host"], {"host_id": host_id, "limit": limit})

    def in_order(self, where: str, without: Iterable[int] = ()) -> str | None:
        """A query for what waits for any host but those `without`, in the order of the queue; None: too many hosts.

        SQLite reads the queues side by side, and no further than it needs.
        """
        host_ids = {host.id for host in self.hosts()} - set(without)
        if len(host_ids) > _MOST_HOSTS:
            return None
        queues = [_SQL[of_host] for of_host in ("ready_of_host", "not_ready_of_host")]
        parts = [f"{queue.format(host_id=host_id)} AND {where}" for host_id in sorted(host_ids) for queue in queues]
        nothing = f"{queues[0].format(host_id=0)} AND 0"
        return f"{' UNION ALL '.join(parts or [nothing])} ORDER BY 2 DESC, 3"
