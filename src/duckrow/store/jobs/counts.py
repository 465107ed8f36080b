"""How many jobs there are in each state, or with each outcome once done."""

from __future__ import annotations

import time
from collections import Counter

from duckrow.core.jobs.job_filter import MARKS, Filter
from duckrow.store.jobs.filtering import condition_of
from duckrow.store.jobs.waiting import WaitingStore
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

_SQL = load_queries("counts")
_ALL = ""  # in the place of an outcome: all jobs of a project


class CountStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def tally(self, filter: Filter) -> dict[str, int]:
        """How many match, by state or outcome. Reads them only if the filter asks for more than is counted."""
        if not is_counted(filter):
            where, values = condition_of(filter, time.time())
            return {row[0]: row[1] for row in self.database.all(_SQL["tally"].format(where=where), values)}
        total: Counter[str] = Counter()
        for project, counts in self.by_project().items():
            if filter.project in (None, project):
                total.update(counts)
        if filter.not_of_hosts:
            total["queued"] -= WaitingStore(self.database).count(filter.not_of_hosts)
        return {status: jobs for status, jobs in total.items() if jobs > 0 and filter.wants(status)}

    def by_project(self) -> dict[str, dict[str, int]]:
        """Project -> state or outcome -> how many."""
        found: dict[str, Counter[str]] = {}
        for project, status, jobs in self.database.all(_SQL["counts"]):
            found.setdefault(project, Counter())[status] += jobs
        for counts in found.values():
            counts["queued"] = counts.pop(_ALL, 0) - sum(counts.values())
        return {project: dict(+counts) for project, counts in found.items() if +counts}


def is_counted(filter: Filter) -> bool:
    """Whether it asks only for states and outcomes, of a project or of all; without hosts only of all."""
    if not MARKS.keys().isdisjoint(filter.statuses):
        return False
    status_only = Filter(filter.statuses, filter.project, failed=filter.failed, not_of_hosts=filter.not_of_hosts)
    return filter == status_only and not (filter.project is not None and filter.not_of_hosts)
