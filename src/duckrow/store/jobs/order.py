"""The order of queued jobs: jobs that are moved together keep their order."""

from __future__ import annotations

import json
from collections.abc import Sequence

from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

_SQL = load_queries("order")


class OrderStore:
    """Each method is one transaction, and returns the jobs that were still queued, and so were moved."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def move_to_end(self, ids: Sequence[int], first: bool) -> list[int]:
        """To the front or the back, each within its priority."""
        with self._database.transaction():
            rows = self._database.execute(_SQL["queues_of"], {"ids": json.dumps(list(ids))})
            queues = {row["id"]: (row["host_id"], row["priority"]) for row in rows}
            ends = {queue: self._end_of(*queue, first) for queue in set(queues.values())}
            moved = [job_id for job_id in ids if job_id in queues]
            for job_id in reversed(moved) if first else moved:
                queue = queues[job_id]
                ends[queue] += -1 if first else 1
                self._place(job_id, queue[1], ends[queue])
        return moved

    def move_before(self, ids: Sequence[int], target_id: int) -> list[int]:
        """Right before another queued job, with its priority."""
        with self._database.transaction():
            target = self._database.execute(_SQL["place_of"], {"id": target_id}).fetchone()
            if target is None:
                return []
            values = {**dict(target), "moved": json.dumps(list(ids))}
            before = self._database.execute(_SQL["position_before"], values).fetchone()[0]
            room = 1.0 if before is None else target["position"] - before
            step = room / (len(ids) + 1)
            places = {job_id: target["position"] - room + number * step for number, job_id in enumerate(ids, start=1)}
            return [job_id for job_id, position in places.items() if self._place(job_id, target["priority"], position)]

    def _end_of(self, host_id: int, priority: int, first: bool) -> float:
        values = {"host_id": host_id, "priority": priority}
        end: float = self._database.execute(_SQL["first_position" if first else "last_position"], values).fetchone()[0]
        return end

    def _place(self, job_id: int, priority: int, position: float) -> bool:
        values = {"id": job_id, "priority": priority, "position": position}
        return self._database.execute(_SQL["set_position"], values).rowcount == 1
