"""Sends a signal to the processes of jobs, for example for a checkpoint; the jobs keep running."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from duckrow.api.adding.job_values import parse_signal
from duckrow.api.jobs.changed import Changed, glance_at
from duckrow.core.errors import UsageError
from duckrow.core.life.states import State
from duckrow.core.life.wishes import signal_wish

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.store.jobs.jobs import Glance


def send_signal(client: Client, ids: Sequence[int], name: str) -> Changed[Glance]:
    """Signal the running ones. `name`: USR1, INT, 10."""
    number = parse_signal(name, "USR1, INT, HUP or a number")
    changed = glance_at(client, ids)
    for job in changed.jobs:
        if job.state == State.DONE:
            changed.refuse(job.id, f"{job.words} is already done")
        elif job.state == State.QUEUED:
            changed.refuse(job.id, f"{job.words} is queued: it has no process to signal")
        else:
            changed.done.append(job.id)
    on_clusters = client.on_clusters(changed.done)
    if on_clusters:
        raise UsageError(f"Job {on_clusters[0]} runs on a cluster: scancel --signal={name} sends a signal there.")
    if changed.done:
        client.wish(changed.done, signal_wish(number))
        client.await_wishes(changed.done)
    return changed
