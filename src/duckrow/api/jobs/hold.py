"""Hold and release: held jobs do not start until they are released."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from duckrow.api.jobs.changed import Changed, glance_at
from duckrow.api.jobs.queued_jobs import apart, told
from duckrow.core.life.states import State
from duckrow.store.jobs.control import ControlStore

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.store.jobs.jobs import Glance


def hold(client: Client, ids: Sequence[int]) -> Changed[Glance]:
    return _set_held(client, ids, held=True)


def release(client: Client, ids: Sequence[int]) -> Changed[Glance]:
    return _set_held(client, ids, held=False)


def set_held(client: Client, ids: Sequence[int], held: bool) -> list[int]:
    """Hold or release jobs; returns those that were queued, the only ones that can be."""
    here, away = apart(client, ids)
    changed = _set_held_away(client, away, held) if away else []
    return told(client, ControlStore(client.database).set_held(here, held) + changed)


def _set_held(client: Client, ids: Sequence[int], held: bool) -> Changed[Glance]:
    changed = glance_at(client, ids)
    away = set(client.on_clusters(ids))  # to release those that are not held continues a stopped batch
    already = [job for job in changed.jobs if job.state == State.QUEUED and job.held == held and job.id not in away]
    for job in already:
        changed.refuse(job.id, already_held(job.id) if held else not_held(job.id))
    refused = {job.id for job in already}
    changed.done = set_held(client, [job_id for job_id in changed.before if job_id not in refused], held)
    changed.refuse_started()
    done = set(changed.done)
    were_not = [job.id for job in changed.jobs if job.id in done and job.held != held]
    if were_not:
        changed.undo = {"action": "release" if held else "hold", "ids": were_not}
    return changed


def already_held(job_id: int) -> str:
    return f"job {job_id} is already held"


def not_held(job_id: int) -> str:
    return f"job {job_id} is not held: duckrow why {job_id} says what it waits for"


def _set_held_away(client: Client, ids: Sequence[int], held: bool) -> list[int]:
    wishes = client.batch_wishes
    return wishes.hold(ids) if held else wishes.release(ids)
