"""One page of the matching jobs, in any order, with counts; fast for any number of jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from duckrow.api.queue.listing import OUTCOMES, STATES, annotated, listing, nearest
from duckrow.core.errors import UsageError
from duckrow.core.jobs.job_filter import Filter
from duckrow.core.life.states import State
from duckrow.store.jobs.counts import CountStore, is_counted
from duckrow.store.jobs.listing import ListingStore

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.api.queue.views import JobView

PER_PAGE = 50
MOST_PER_PAGE = 500
STATUSES = (*STATES, *OUTCOMES)
_FEW = 2_000

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


def page_with_counts(
    client: Client,
    filter: Filter,
    count: Callable[[Client, Filter], dict[str, int]],
    sort: str | None = None,
    page: int = 1,
    per_page: int = PER_PAGE,
) -> tuple[list[JobView], dict[str, int]]:
    """A page, and how many match whatever their state or outcome. `count` is asked if that is known, or if many match.

    To search for a text is to read all jobs. If few match, that is done once for both.
    """
    of_all = filter._replace(statuses=())
    few = None if is_counted(of_all) else ListingStore(client.database).few(of_all, _FEW)
    if few is None:
        return jobs_of_page(client, filter, sort, page, per_page), count(client, of_all)
    among = filter._replace(ids=[job_id for ids in few.values() for job_id in ids])
    counts = {status: len(few[status]) for status in STATUSES if status in few}
    return jobs_of_page(client, among, sort, page, per_page), counts


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
