"""Edit: change a queued job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from duckrow.api.adding.job_values import found_here
from duckrow.api.jobs.queued_jobs import has_started, must_wait, told
from duckrow.api.jobs.submit import could_never_start
from duckrow.core.errors import UsageError
from duckrow.core.jobs.editing import checked_change
from duckrow.store.hosts import DAEMON
from duckrow.store.jobs.control import ControlStore

if TYPE_CHECKING:
    from duckrow.api.client import Client

_SECONDS_AND_BYTES = {"timeout": "timeout_s", "grace": "grace_s", "backoff": "backoff_s", "max_log": "max_log_bytes"}


def edit(client: Client, job_id: int, changes: Mapping[str, Any]) -> None:
    must_wait(client, job_id)
    changes = found_here({key: checked_change(key, value) for key, value in changes.items()})
    if "gpus" in changes:
        _refuse_impossible(client, job_id, changes["gpus"])
    if changes and not ControlStore(client.database).edit(job_id, changes):
        raise has_started(job_id)
    told(client, [job_id])


def _refuse_impossible(client: Client, job_id: int, gpus: int | None) -> None:
    for job in client.jobs.asked_for([job_id]):
        specs = [replace(job.spec, gpus=gpus)] if job.host_id == DAEMON else []
        for _, why_not in could_never_start(client, specs):
            raise UsageError(f"Job {job_id} could never start like this. {why_not} Nothing was changed.")


def spec_of(client: Client, job_id: int) -> dict[str, Any]:
    """The parts of a job that can be changed, with their values."""
    must_wait(client, job_id)
    return ControlStore(client.database).spec_of(job_id)


def edit_words(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the command line, under the names that jobs keep them by."""
    return {_SECONDS_AND_BYTES.get(name, name): value for name, value in changes.items()}
