"""Checks shared by all changes to queued jobs: still queued, on this machine; then notifies the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from duckrow.core.errors import ConflictError, UsageError
from duckrow.core.life.states import State, state_in_words
from duckrow.store.batches import BatchStore
from duckrow.store.jobs.control import ControlStore

if TYPE_CHECKING:
    from duckrow.api.client import Client


def told(client: Client, ids: list[int]) -> list[int]:
    """Wake the hosts if any job was changed; returns the same jobs."""
    if ids:
        client.ring_all()
    return ids


def apart(client: Client, ids: Sequence[int]) -> tuple[list[int], list[int]]:
    """(jobs of this machine, runs on clusters)."""
    away = BatchStore(client.database).of_jobs(ids)
    return [job_id for job_id in ids if job_id not in away], list(away)


def must_be_here(client: Client, ids: Sequence[int]) -> None:
    store = BatchStore(client.database)
    for job_id, run in store.of_jobs(ids).items():
        batch = store.get(run.batch_id).name
        raise UsageError(
            f"Job {job_id} is queued on a cluster, in batch {batch}. You can hold, release, prioritise or kill it, "
            "but not change it."
        )


def must_wait(client: Client, job_id: int) -> None:
    must_be_here(client, [job_id])
    state, outcome = ControlStore(client.database).end_of(job_id)
    if state != State.QUEUED:
        again = f" To run it again: duckrow rerun {job_id}" if state == State.DONE else ""
        raise ConflictError(f"Job {job_id} {state_in_words(state, outcome)}: only queued jobs can be changed.{again}")


def has_started(job_id: int) -> ConflictError:
    return ConflictError(f"Job {job_id} has already started and was not changed.")
