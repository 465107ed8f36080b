"""Remove: forget queued or finished jobs, with their logs and folders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from duckrow.api.jobs.changed import Changed, glance_at
from duckrow.api.jobs.queued_jobs import must_be_here, told
from duckrow.core.errors import JobGone
from duckrow.core.life.states import State
from duckrow.store.jobs.control import ControlStore
from duckrow.store.jobs.forgetting import Forgetting

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.store.jobs.jobs import Glance


def remove(client: Client, ids: Sequence[int]) -> Changed[Glance]:
    changed = glance_at(client, ids)
    must_be_here(client, [job.id for job in changed.jobs if job.state == State.QUEUED])
    changed.done = told(client, Forgetting(client.database).forget(list(changed.before)))
    gone = set(changed.done)
    for job_id in changed.before:
        if job_id not in gone:
            changed.refuse(job_id, _why_not(client, job_id))
    return changed


def _why_not(client: Client, job_id: int) -> str:
    waiting = ControlStore(client.database).waiting_for(job_id)
    if waiting:
        return f"job {waiting[0]} is waiting for job {job_id}; remove job {waiting[0]} first"
    try:
        return f"job {job_id} is {client.job(job_id).state}; kill it first"
    except JobGone as error:
        return str(error).rstrip(".")
