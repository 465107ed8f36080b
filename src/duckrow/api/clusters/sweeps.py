"""Sweeps on a cluster: what has to run there, all as one batch."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from duckrow.api.clusters.submit import submit_batch
from duckrow.api.jobs.kill import kill_abandoned
from duckrow.api.queue.attendance import warn
from duckrow.clusters.batch import Batch
from duckrow.core.errors import DuckrowError
from duckrow.core.life.states import Outcome
from duckrow.store.batches import BatchStore

if TYPE_CHECKING:
    from duckrow.api.sweeps.sweeps import SweepRow, Sweeps, Todo
    from duckrow.core.clusters.request import ClusterRequest
    from duckrow.core.jobs.job import JobSpec
    from duckrow.core.sweeps.sweep import Point


def earlier_request(sweeps: Sweeps, sweep: SweepRow) -> ClusterRequest | None:
    """The cluster request of the runs that have not succeeded; None: they were not on a cluster.

    The next batch is created beside the last one, wherever you type this.
    """
    points = sweeps.store.points(sweep.id)
    hosts = {point.host_id for point in points if point.outcome != Outcome.SUCCEEDED}
    batches = list(BatchStore(sweeps.client.database).among(hosts).values())
    if not batches:
        return None
    try:
        batch = Batch(batches[-1].folder)
        return replace(batch.request, folder=os.path.dirname(batch.folder))
    except DuckrowError:
        return None  # it was removed


def todo_on_cluster(sweeps: Sweeps, sweep: SweepRow, points: Sequence[Point] | None) -> Todo:
    """As on one machine; but kills runs that would wait for ever because their cluster jobs were cancelled."""
    todo = sweeps.todo(sweep, points)
    ended = kill_abandoned(sweeps.client, todo.busy)
    return sweeps.todo(sweep, points) if ended else todo


def submit_sweep(
    sweeps: Sweeps,
    sweep: SweepRow,
    specs: Sequence[JobSpec],
    todo: Todo,
    request: ClusterRequest,
    environment: Mapping[str, str] | None = None,
    tell: Callable[[str], None] = warn,
) -> list[int]:
    """Submit new and unsuccessful runs as one batch; returns the ids. If the cluster refuses, nothing is left over."""
    again = [*todo.again, *todo.stranded]
    try:
        return submit_batch(sweeps.client, specs, request, environment, sweep.name, again, tell)
    except DuckrowError:
        sweeps.take_back(sweep, specs)
        raise
