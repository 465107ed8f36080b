"""Lists of jobs: which match a filter, and in what order."""

from __future__ import annotations

import json
import time
from array import array
from collections.abc import Iterable, Mapping, Sequence

from duckrow.core.devices.device import CPU_SLOTS_IN_SQL
from duckrow.core.jobs.job_filter import Filter
from duckrow.core.life.states import Outcome
from duckrow.core.named_tuple import NamedTuple
from duckrow.store.jobs.counts import CountStore
from duckrow.store.jobs.filtering import condition_of
from duckrow.store.jobs.jobs import JobStore
from duckrow.store.jobs.listed_job import ListedJob
from duckrow.store.jobs.waiting import WaitingStore
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import Any

_SQL = load_queries("listing")
_MOST = 1 << 62  # rows that SQLite can count

# What jobs can be sorted by.
_BY: dict[str, str] = {
    "id": "j.id",
    "name": "j.name",
    "state": "coalesce(j.outcome, j.state)",
    "where": "a.holds",
    "pid": "CASE WHEN a.ended_at IS NULL THEN a.pid END",
    "since": "j.changed_at",
    "time": "CASE WHEN j.state <> 'queued' THEN coalesce(a.ended_at, :now) - a.started_at END",
    "memory": "a.peak_memory_mb",
    "busy": "a.utilization",
    "gpu-time": "CASE WHEN j.state <> 'queued' THEN (coalesce(a.ended_at, :now) - a.started_at)"
    " * (SELECT count(*) FROM json_each(a.holds)"
    f" WHERE json_extract(value, '$[0]') NOT LIKE '{CPU_SLOTS_IN_SQL}') END",
    "exit": "coalesce(a.exit_code, 128 + a.signal)",
    "attempts": "j.attempts",
    "priority": "j.priority",
    "project": "j.project",
    "sweep": "(SELECT s.name FROM points p JOIN sweeps s ON s.id = p.sweep_id WHERE p.job_id = j.id)",
    "host": "h.name",
    "command": "j.command",
    "log": "a.log",
    "detail": "j.detail",
}


class _Segment(NamedTuple):
    """Jobs that stand together in a list."""

    states: tuple[str, ...]
    condition: str
    order: str


# What is most worth seeing comes first: running jobs, queued jobs in queue order, then done jobs, newest first.
_QUEUED = _Segment(("queued",), "j.state = 'queued'", "j.priority DESC, j.position")
_SEGMENTS = (
    _Segment(
        ("starting", "running", "stopping"),
        "j.id IN (SELECT job_id FROM attempts WHERE ended_at IS NULL) AND j.state <> 'queued'",
        "j.id",
    ),
    _QUEUED,
    _Segment(tuple(Outcome), "j.state = 'done'", "j.id DESC"),
)


class ListingStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def ids(
        self, filter: Filter, by: str = "id", down: bool = False, limit: int = -1, offset: int = 0
    ) -> Sequence[int]:
        """The jobs that match, in this order; those without a value come last. `limit` -1: all."""
        now = time.time()
        where, values = condition_of(filter, now)
        return self._ids(where, {**values, "now": now}, _order(by, down), limit, offset)

    def few(self, filter: Filter, most: int) -> dict[str, list[int]] | None:
        """The jobs that match, by state or outcome, if they are no more than `most`."""
        where, values = condition_of(filter, time.time())
        rows = self.database.all(_SQL["few"].format(where=where), {**values, "limit": most + 1})
        found = {status: [int(job_id) for job_id in ids.split(",")] for status, ids in rows}
        return None if sum(map(len, found.values())) > most else found

    def most_worth_seeing(self, filter: Filter, limit: int, skip: int) -> Sequence[int]:
        """Done, running, queued, so that what is most worth seeing is at the end."""
        found: list[array[int]] = []
        left = limit = min(limit, _MOST)
        skip = min(skip, _MOST)
        for segment in _SEGMENTS:
            ids = self._of_segment(segment, filter, left, skip)
            skip = 0 if ids or not skip else skip - self._size(segment, filter)
            found.append(ids)
            left = left if limit < 0 else left - len(ids)
        live, waiting, done = found
        done.reverse()
        return done + live + waiting

    def _of_segment(self, segment: _Segment, filter: Filter, limit: int, skip: int) -> array[int]:
        if not limit or not any(map(filter.wants, segment.states)):
            return array("q")
        if len(segment.states) == 1 and segment.states[0] in filter.statuses:  # none must be compared
            filter = filter._replace(statuses=())
        where, values = condition_of(filter, time.time())
        in_order = None
        if segment is _QUEUED and filter.ids is None:
            in_order = WaitingStore(self.database).in_order(where, filter.not_of_hosts)
        if in_order is None:
            return self._ids(f"{segment.condition} AND {where}", values, segment.order, limit, skip)
        page = {"limit": limit, "offset": skip}
        return self.database.numbers(f"{in_order} LIMIT :limit OFFSET :offset", {**values, **page})

    def _size(self, segment: _Segment, filter: Filter) -> int:
        counts = CountStore(self.database).tally(filter)
        return sum(counts.get(status, 0) for status in segment.states)

    def jobs(self, filter: Filter) -> list[ListedJob]:
        """The jobs that match, with their latest attempt, sorted by id."""
        return JobStore(self.database).pick(*condition_of(filter, time.time()))

    def count_running(self, filter: Filter, among: Iterable[int]) -> int:
        """How many of these jobs match and are running."""
        where, values = condition_of(filter, time.time())
        condition = f"{where} AND j.state = 'running' AND j.id IN (SELECT value FROM json_each(:among))"
        return self._count(condition, {**values, "among": json.dumps(list(among))})

    def _ids(self, where: str, values: Mapping[str, Any], order: str, limit: int, offset: int) -> array[int]:
        """Joins a table only if the order needs it."""
        joins = [_SQL["join_attempts"]] if "a." in order else []
        joins += [_SQL["join_hosts"]] if "h." in order else []
        statement = _SQL["ids"].format(join=" ".join(joins), where=where, order=order)
        page = {"limit": min(limit, _MOST), "offset": min(offset, _MOST)}
        return self.database.numbers(statement, {**values, **page})

    def _count(self, where: str, values: Mapping[str, Any]) -> int:
        return int(self.database.one(_SQL["count"].format(where=where), values))


def _order(by: str, down: bool) -> str:
    direction = "DESC" if down else "ASC"
    if by == "id":
        return f"{_BY[by]} {direction}"
    return f"({_BY[by]}) IS NULL, {_BY[by]} {direction}, j.id"
