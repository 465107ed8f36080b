"""The order of jobs that wait: their priority, and their place within it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from duckrow.api.jobs.changed import Changed, glance_at
from duckrow.api.jobs.waiting import apart, has_started, must_wait, told
from duckrow.core.errors import ConflictError, JobGone, UsageError
from duckrow.store.control import ControlStore

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.store.control import PlaceInQueue
    from duckrow.store.jobs import Glance


def prioritise(client: Client, ids: Sequence[int], priority: int) -> Changed[Glance]:
    """Higher ones start first."""
    changed = glance_at(client, ids)
    places = ControlStore(client.database).places_of(changed.before)
    here, away = apart(client, list(changed.before))
    given = client.batch_wishes.prioritise(away, priority) if away else []
    changed.done = told(client, ControlStore(client.database).set_priority(here, priority) + given)
    changed.refuse_started()
    _can_go_back(changed, places)
    return changed


def move_first(client: Client, ids: Sequence[int]) -> Changed[Glance]:
    """To the front of their priority; several keep their order among themselves."""
    return _move(client, ids, None, first=True)


def move_last(client: Client, ids: Sequence[int]) -> Changed[Glance]:
    return _move(client, ids, None, first=False)


def move_before(client: Client, ids: Sequence[int], before: int) -> Changed[Glance]:
    """Right before this job, with its priority."""
    client.select([str(before)])
    return _move(client, ids, before, first=False)


def _move(client: Client, ids: Sequence[int], before: int | None, first: bool) -> Changed[Glance]:
    changed = glance_at(client, ids)
    places = ControlStore(client.database).places_of(changed.before)
    for job_id in reversed(list(changed.before)) if first else list(changed.before):
        try:
            _move_one(client, job_id, before, first)
            changed.done.append(job_id)
        except (ConflictError, JobGone) as error:
            changed.refuse(job_id, str(error))
    _can_go_back(changed, places)
    return changed


def _move_one(client: Client, job_id: int, before: int | None, first: bool) -> None:
    must_wait(client, job_id)
    store = ControlStore(client.database)
    if before is None:
        moved = store.move_to_end(job_id, first)
    else:
        if before == job_id:
            raise UsageError(f"Job {job_id} cannot be moved before itself.")
        must_wait(client, before)
        moved = store.move_before(job_id, before)
    if not moved:
        raise has_started(job_id)
    told(client, [job_id])


def place(client: Client, ids: Sequence[int], places: Sequence[tuple[int, int, float]]) -> Changed[Glance]:
    """Back to where they stood before they were moved: (id, priority, position)."""
    changed = glance_at(client, ids)
    wanted = [each for each in places if each[0] in changed.before]
    changed.done = told(client, ControlStore(client.database).place(wanted))
    changed.refuse_started()
    return changed


def _can_go_back(changed: Changed[Glance], places: Mapping[int, PlaceInQueue]) -> None:
    if changed.done:
        back = [[job_id, *places[job_id]] for job_id in changed.done if job_id in places]
        changed.undo = {"action": "place", "ids": list(changed.done), "places": back}
