"""The order of queued jobs: their priority, and their place within it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from duckrow.api.jobs.changed import Changed, glance_at
from duckrow.api.jobs.queued_jobs import apart, must_be_here, must_wait, told
from duckrow.core.errors import ConflictError, JobGone, UsageError
from duckrow.core.life.states import State
from duckrow.store.jobs.control import ControlStore
from duckrow.store.jobs.order import OrderStore

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.store.jobs.control import QueuePosition
    from duckrow.store.jobs.jobs import Glance


def prioritise(client: Client, ids: Sequence[int], priority: int) -> Changed[Glance]:
    """Higher ones start first."""
    changed = glance_at(client, ids)
    positions = ControlStore(client.database).positions_of(changed.before)
    here, away = apart(client, list(changed.before))
    given = client.batch_wishes.prioritise(away, priority) if away else []
    changed.done = told(client, ControlStore(client.database).set_priority(here, priority) + given)
    changed.refuse_started()
    _can_go_back(changed, positions)
    return changed


def move_first(client: Client, ids: Sequence[int]) -> Changed[Glance]:
    """Move to the front of their priority; several keep their order."""
    return _move(client, ids, lambda waiting: OrderStore(client.database).move_to_end(waiting, first=True))


def move_last(client: Client, ids: Sequence[int]) -> Changed[Glance]:
    return _move(client, ids, lambda waiting: OrderStore(client.database).move_to_end(waiting, first=False))


def move_before(client: Client, ids: Sequence[int], before: int) -> Changed[Glance]:
    """Move right before this job, with its priority."""
    client.select([str(before)])
    if before in ids:
        raise UsageError(f"Job {before} cannot be moved before itself.")

    def move(waiting: list[int]) -> list[int]:
        moved = OrderStore(client.database).move_before(waiting, before)
        if not moved:
            must_wait(client, before)  # it may have started or been removed meanwhile
        return moved

    try:
        must_wait(client, before)
        return _move(client, ids, move)
    except (ConflictError, JobGone) as error:
        changed = glance_at(client, ids)
        for job_id in changed.before:
            changed.refuse(job_id, str(error))
        return changed


def _move(client: Client, ids: Sequence[int], move: Callable[[list[int]], list[int]]) -> Changed[Glance]:
    changed = glance_at(client, ids)
    positions = ControlStore(client.database).positions_of(changed.before)
    waiting = [job.id for job in changed.jobs if job.state == State.QUEUED]
    must_be_here(client, waiting)
    changed.done = told(client, move(waiting))
    changed.refuse_started()
    _can_go_back(changed, positions)
    return changed


def place(client: Client, ids: Sequence[int], places: Sequence[tuple[int, int, float]]) -> Changed[Glance]:
    """Move back to where they were before: (id, priority, position)."""
    changed = glance_at(client, ids)
    wanted = [each for each in places if each[0] in changed.before]
    changed.done = told(client, ControlStore(client.database).place(wanted))
    changed.refuse_started()
    return changed


def _can_go_back(changed: Changed[Glance], positions: Mapping[int, QueuePosition]) -> None:
    if changed.done:
        back = [[job_id, *positions[job_id]] for job_id in changed.done if job_id in positions]
        changed.undo = {"action": "place", "ids": list(changed.done), "places": back}
