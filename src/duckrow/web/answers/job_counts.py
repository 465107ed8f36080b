"""How many jobs of each kind exist: counted now and then, however many people look.

With a hundred thousand jobs, counting takes longer than reading a page of the list. So a count may be a little old: two
seconds at most, and so that counting takes no more than a twentieth of a core.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

from duckrow.api.client import Client
from duckrow.api.queue.job_pages import STATUSES, counts_by_project
from duckrow.api.queue.listing import tally
from duckrow.core.jobs.job_filter import Filter

_SHARE = 20  # a count stays valid for this many times the time that it took
_OLDEST_S = 2.0
_MOST_KEPT = 200


class JobCounts:
    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[float, float, Any]] = {}  # (when, good until, the counts)
        self._counting: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def of_filter(self, client: Client, filter: Filter) -> dict[str, int]:
        if filter == Filter(project=filter.project):  # counted for all projects at once
            return _sum(self.by_project(client), filter.project)
        of_what = (filter.project, filter.sweep_id, filter.text, filter.name)
        key = (*of_what, filter.failed, filter.since_s, filter.older_than_s)
        counts: dict[str, int] = self._fresh(key, lambda: tally(client, filter))
        return counts

    def by_project(self, client: Client) -> dict[str, dict[str, int]]:
        counts: dict[str, dict[str, int]] = self._fresh("by project", lambda: counts_by_project(client))
        return counts

    def _fresh(self, key: Hashable, count: Callable[[], Any]) -> Any:
        with self._lock:
            counting = self._counting.setdefault(key, threading.Lock())
        with counting:  # if several ask at once, one counts
            kept = self._kept.get(key)
            if kept is None or time.monotonic() > kept[1]:
                began = time.monotonic()
                counted = count()
                good_for_s = min((time.monotonic() - began) * _SHARE, _OLDEST_S)
                kept = (began, began + good_for_s, counted)
                self._keep(key, kept)
            return kept[2]

    def _keep(self, key: Hashable, kept: tuple[float, float, Any]) -> None:
        with self._lock:
            self._kept[key] = kept
            if len(self._kept) > _MOST_KEPT:
                for old in sorted(self._kept, key=lambda key: self._kept[key][0])[: _MOST_KEPT // 2]:
                    del self._kept[old]
                    self._counting.pop(old, None)


def _sum(by_project: dict[str, dict[str, int]], project: str | None) -> dict[str, int]:
    total: Counter[str] = Counter()
    for name, counts in by_project.items():
        if project is None or name == project:
            total.update(counts)
    return {status: total[status] for status in STATUSES if status in total}
