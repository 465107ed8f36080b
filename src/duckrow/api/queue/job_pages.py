"""One page of the matching jobs, in any order, with counts; fast for any number of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from duckrow.api.queue.listing import OUTCOMES, STATES, annotated, listing, nearest
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job_filter import Filter
from duckrow.core.life.states import State
from duckrow.store.jobs.counts import CountStore
from duckrow.store.jobs.listing import ListingStore

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.api.queue.views import JobView

PER_PAGE = 50
MOST_PER_PAGE = 500
STATUSES = (*STATES, *OUTCOMES)

# What pages can be sorted by, and its column. `since` is when a job entered its state.
SORTS: dict[str, str] = {
    "id": "id",
    "name": "name",
    "project": "project",
    "state": "state",
    "since": "since",
    "duration": "time",
    "peak": "memory",
    "priority": "priority",
}


def jobs_of_page(
    client: Client, filter: Filter, sort: str | None = None, page: int = 1, per_page: int = PER_PAGE
) -> list[JobView]:
    """Without `sort`: running jobs, then queued ones in queue order, then done ones, newest first."""
    if sort is None:
        views = listing(client, filter, per_page, page)
        live = [view for view in views if view.state not in (State.QUEUED, State.DONE)]
        waiting = [view for view in views if view.state == State.QUEUED]
        return [*live, *waiting, *(view for view in reversed(views) if view.state == State.DONE)]
    name, down = sort.removeprefix("-"), sort.startswith("-")
    if name not in SORTS:
        raise UsageError(
            f"Jobs cannot be sorted by '{name}'.{nearest(name, SORTS)} Choose from: {', '.join(SORTS)}; a minus in"
            " front reverses the order."
        )
    ids = ListingStore(client.database).ids(filter, SORTS[name], down, per_page, (page - 1) * per_page)
    return annotated(client, ids)


def count_of(counts: dict[str, int], statuses: Any) -> int:
    """How many have one of these states or outcomes; without any, all."""
    wanted = set(statuses)
    if not wanted:
        return sum(counts.values())
    if State.DONE in wanted:
        wanted.update(OUTCOMES)
    return sum(count for status, count in counts.items() if status in wanted)


def counts_by_project(client: Client) -> dict[str, dict[str, int]]:
    """How many jobs each project has, by state or outcome."""
    return CountStore(client.database).by_project()
