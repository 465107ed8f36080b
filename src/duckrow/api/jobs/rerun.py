"""Rerun: run finished jobs again as another attempt, as they are or changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from duckrow.api.adding.job_values import found_here
from duckrow.api.jobs.changed import Changed, glance_at
from duckrow.api.jobs.queued_jobs import apart
from duckrow.api.jobs.submit import could_never_start
from duckrow.core.errors import UsageError
from duckrow.core.jobs.editing import checked_change
from duckrow.core.life.states import State
from duckrow.core.life.wishes import Wish
from duckrow.store.jobs.control import ControlStore
from duckrow.store.jobs.jobs import Glance
from duckrow.store.life.dependencies import DependencyStore

if TYPE_CHECKING:
    from duckrow.api.client import Client

_LOOKED_AT = 10_000  # jobs at a time
_AT_A_TIME = 1000  # jobs that are checked together: the request of each is 10 kB


@dataclass
class RerunJobs(Changed[Glance]):
    behind: list[int] = field(default_factory=list)  # jobs that were skipped because of these, and wait again


def rerun(
    client: Client,
    ids: Sequence[int],
    changes: Mapping[str, Any] | None = None,
    dry_run: bool = False,
    one_of_many: bool = False,
) -> RerunJobs:
    """`changes`: made to each job before it can start. `dry_run`: only say which would run again.

    `one_of_many`: the caller has checked all that it wants, of which these are some, and waits for all.
    """
    looked = glance_at(client, ids)
    changed = RerunJobs(looked.before, refused=looked.refused)
    for job in changed.jobs:
        if job.state == State.DONE:
            changed.done.append(job.id)
        else:
            changed.refuse(job.id, f"{job.words} is {job.state}; only finished jobs can run again")
    changed.behind = DependencyStore(client.database).skipped_behind(changed.done) if changed.done else []
    if changed.done and not dry_run:
        queue_again = _queue_again if one_of_many else put_back
        queue_again(client, changed.done, _checked(changes or {}))
    return changed


def check_rerun(client: Client, ids: Sequence[int], changes: Mapping[str, Any]) -> None:
    """Before any of them is changed: those of these jobs that are done can run again."""
    for first in range(0, len(ids), _LOOKED_AT):
        jobs = client.jobs.glance(ids[first : first + _LOOKED_AT])
        _refuse_impossible(client, [job.id for job in jobs if job.state == State.DONE], _checked(changes))


def put_back(client: Client, ids: Sequence[int], changes: Mapping[str, Any] | None = None) -> None:
    """Requeue jobs that are done; those of an ended run go to the daemon, if they fit there."""
    _refuse_impossible(client, ids, changes or {})
    _queue_again(client, ids, changes or {})
    client.await_wishes(ids)


def _queue_again(client: Client, ids: Sequence[int], changes: Mapping[str, Any]) -> None:
    here, away = apart(client, ids)
    if changes:
        ControlStore(client.database).edit_done(ids, changes)
    if away:
        client.batch_wishes.rerun(away)
    if here:
        client.wish(here, Wish.RERUN)


def _checked(changes: Mapping[str, Any]) -> dict[str, Any]:
    return found_here({key: checked_change(key, value) for key, value in changes.items()})


def _refuse_impossible(client: Client, ids: Sequence[int], changes: Mapping[str, Any]) -> None:
    """Before any change, check the jobs that go to the daemon or ask for another number of GPUs: they must fit.

    To run a job again is to add it, so a job that goes to the daemon starts it.
    """
    ids, _ = apart(client, ids)
    living = {row.id for row in client.living_hosts()}
    owners = client.jobs.owners(ids)
    for_daemon = [job_id for job_id in ids if owners.get(job_id) not in living]
    if for_daemon:
        client.ensure_daemon()
    if "gpus" not in changes:
        ids = for_daemon
    elif ids:
        client.find_seats()
    for first in range(0, len(ids), _AT_A_TIME):
        judged = client.jobs.asked_for(ids[first : first + _AT_A_TIME])
        specs = [replace(job.spec, gpus=changes.get("gpus", job.spec.gpus)) for job in judged]
        for number, why_not in could_never_start(client, specs):
            raise UsageError(f"Job {judged[number].id} could never start here. {why_not} Nothing was queued.")
