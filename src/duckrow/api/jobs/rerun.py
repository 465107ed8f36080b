"""Rerun: jobs that are done go back into the queue as a further attempt, as they are or changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from duckrow.api.jobs.changed import Changed, look_at
from duckrow.core.editing import checked_change
from duckrow.core.errors import UsageError
from duckrow.core.lifecycle import State
from duckrow.core.needs import Ask
from duckrow.core.placement import refusal
from duckrow.core.wishes import Wish
from duckrow.store.batches import BatchStore
from duckrow.store.control import ControlStore

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.api.views import JobView


def rerun(
    client: Client, ids: Sequence[int], changes: Mapping[str, Any] | None = None, dry_run: bool = False
) -> Changed[JobView]:
    """`changes`: each is changed so before it can start. `dry_run`: only say which would run again."""
    changed = look_at(client, ids)
    for job in changed.jobs:
        if job.state == State.DONE:
            changed.done.append(job.id)
        else:
            changed.refuse(job.id, f"{job.words} is {job.state}, not done")
    if changed.done and not dry_run:
        if changes:
            _change(client, changed.done, changes)
        put_back(client, changed.done)
    return changed


def _change(client: Client, ids: Sequence[int], changes: Mapping[str, Any]) -> None:
    changes = {key: checked_change(key, value) for key, value in changes.items()}
    client.ensure_daemon()
    if "gpus" in changes and (why_not := refusal(Ask(changes["gpus"]), client.seats())):
        raise UsageError(f"They could never start so. {why_not} Nothing was queued.")
    ControlStore(client.database).edit_done(ids, changes)


def put_back(client: Client, ids: Sequence[int]) -> None:
    """Jobs that are known to be done; those of a run that is over go to the daemon, if it could hold them."""
    on_clusters = BatchStore(client.database).of_jobs(ids)
    if on_clusters:
        client.batch_wishes.rerun(list(on_clusters))
    ids = [job_id for job_id in ids if job_id not in on_clusters]
    if not ids:
        return
    client.ensure_daemon()
    living = {row.id for row in client.living_hosts()}
    moving = [job for job in client.jobs.asked_for(ids) if job.host_id not in living]
    for number, why_not in client.could_never_start([job.spec for job in moving]):
        raise UsageError(f"Job {moving[number].id} could never start here. {why_not} Nothing was queued.")
    client.wish(ids, Wish.RERUN)
    client.await_wishes(ids)
