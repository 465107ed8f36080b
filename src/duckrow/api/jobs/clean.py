"""Clean: forget old jobs, or those that runs have left behind, and free the disk space."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from duckrow.api.jobs.queued_jobs import told
from duckrow.api.queue.listing import ended_runs
from duckrow.core.errors import ConflictError, NotFoundError
from duckrow.store.hosts import is_alive
from duckrow.store.jobs.control import ControlStore
from duckrow.store.jobs.forgetting import Forgetting, rest_a_little
from duckrow.store.sqlite.space import give_back_space

if TYPE_CHECKING:
    from duckrow.api.client import Client

_EVER = 1e18  # a time that is never over


def old_jobs(client: Client, older_than_s: float) -> list[int]:
    """Jobs that have been done for longer than this, and jobs that ended runs left behind as long ago."""
    before = time.time() - older_than_s
    return sorted([*ControlStore(client.database).older_than(before), *left_by_runs(client, before=before)])


def left_by_runs(client: Client, name: str | None = None, before: float = math.inf) -> list[int]:
    """Queued jobs of runs that have ended. `name`: only of this run."""
    only = None if name is None else _ended_run(client, name)
    store = ControlStore(client.database)
    runs = [run for run in ended_runs(client) if only in (None, run.host_id)]
    return [job_id for run in runs for job_id in store.waiting_of(run.host_id, min(before, _EVER))]


def _ended_run(client: Client, name: str) -> int:
    """The run with this name or number; of several with the name the newest."""
    run = client.hosts.run_named(name)
    if run is None:
        raise NotFoundError(f"There is no run {name}. `duckrow ls` names those that have ended and left jobs.")
    if is_alive(client.folder, run.id):
        raise ConflictError(f"{name} is still running. Press Ctrl-C there, or kill its jobs.")
    return run.id


def clean(client: Client, ids: Sequence[int]) -> list[int]:
    """Forget these jobs and free their space; returns those that were removed."""
    forgetting = Forgetting(client.database)
    removed = forgetting.forget(ids)
    if removed:
        forgetting.forget_environments()
        alone = not client.living_hosts()
        give_back_space(client.database.path, rest_a_little, may_copy=True, alone=alone)
    return told(client, removed)
