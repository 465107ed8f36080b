"""Kill: stop jobs with all their processes; queued jobs never start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from duckrow.api.jobs.changed import Changed, glance_at
from duckrow.api.jobs.queued_jobs import apart
from duckrow.core.life.states import State
from duckrow.core.life.wishes import kill_wish

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.store.jobs.jobs import Glance


def kill_abandoned(client: Client, ids: Sequence[int]) -> list[int]:
    """End those that would wait on a cluster for ever, because nothing more is submitted for their batch."""
    return client.batch_wishes.end_abandoned(ids)


def in_order_of_kills(client: Client, ids: Sequence[int]) -> list[int]:
    """For callers that kill many, some at a time."""
    return client.jobs.in_order_of_kills(ids)


def kill(client: Client, ids: Sequence[int], at_once: bool = False, answered: bool = True) -> Changed[Glance]:
    """`at_once`: without grace time. `answered`: wait until a host has seen the wish."""
    changed = glance_at(client, ids)
    for job in changed.jobs:
        if job.state == State.DONE:
            changed.refuse(job.id, f"{job.words} is already done ({job.outcome})")
    alive = [job for job in changed.jobs if job.state != State.DONE]
    changed.done = [job.id for job in alive]
    if not alive:
        return changed
    here, away = apart(client, changed.done)
    if away:
        client.batch_wishes.kill(away, at_once)
    client.wish(here, kill_wish(at_once))
    if answered:
        client.await_wishes(changed.done)
    if all(job.state == State.QUEUED for job in alive):
        changed.undo = {"action": "rerun", "ids": changed.done}
    return changed
