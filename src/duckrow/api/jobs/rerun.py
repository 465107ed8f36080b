"""Rerun: run finished jobs again as another attempt, as they are or changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from duckrow.api.jobs.changed import Changed, glance_at
from duckrow.api.jobs.submit import could_never_start
from duckrow.core.errors import UsageError
from duckrow.core.jobs.editing import checked_change
from duckrow.core.life.states import State
from duckrow.core.life.wishes import Wish
from duckrow.store.batches import BatchStore
from duckrow.store.jobs.control import ControlStore

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.store.jobs.jobs import Glance

_AT_A_TIME = 1000  # jobs that are checked together: the request of each is 10 kB


def rerun(
    client: Client, ids: Sequence[int], changes: Mapping[str, Any] | None = None, dry_run: bool = False
) -> Changed[Glance]:
    """`changes`: made to each job before it can start. `dry_run`: only say which would run again."""
    changed = glance_at(client, ids)
    for job in changed.jobs:
        if job.state == State.DONE:
            changed.done.append(job.id)
        else:
            changed.refuse(job.id, f"{job.words} is {job.state}; only finished jobs can run again")
    if changed.done and not dry_run:
        put_back(client, changed.done, {key: checked_change(key, value) for key, value in (changes or {}).items()})
    return changed


def put_back(client: Client, ids: Sequence[int], changes: Mapping[str, Any] | None = None) -> None:
    """Requeue jobs that are done; those of an ended run go to the daemon, if they fit there."""
    on_clusters = BatchStore(client.database).of_jobs(ids)
    here = [job_id for job_id in ids if job_id not in on_clusters]
    if here:
        client.ensure_daemon()
        _refuse_impossible(client, here, changes or {})
    if changes:
        ControlStore(client.database).edit_done(ids, changes)
    if on_clusters:
        client.batch_wishes.rerun(list(on_clusters))
    if here:
        client.wish(here, Wish.RERUN)
        client.await_wishes(here)


def _refuse_impossible(client: Client, ids: Sequence[int], changes: Mapping[str, Any]) -> None:
    """Before any change, check the jobs that go to the daemon or ask for another number of GPUs: they must fit."""
    living = {row.id for row in client.living_hosts()}
    owners = client.jobs.owners(ids)
    ids = [job_id for job_id in ids if "gpus" in changes or owners.get(job_id) not in living]
    for first in range(0, len(ids), _AT_A_TIME):
        judged = client.jobs.asked_for(ids[first : first + _AT_A_TIME])
        specs = [replace(job.spec, gpus=changes.get("gpus", job.spec.gpus)) for job in judged]
        for number, why_not in could_never_start(client, specs):
            raise UsageError(f"Job {judged[number].id} could never start here. {why_not} Nothing was queued.")
