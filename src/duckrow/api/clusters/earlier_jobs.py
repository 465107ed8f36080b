"""Moves existing jobs into a batch, and back if the cluster refuses it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from duckrow.clusters.batch import Batch
from duckrow.core.jobs.job import JobSpec
from duckrow.store.batches import BatchStore

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.store.jobs.requests import EarlierJob


class JoiningJobs:
    def __init__(self, client: Client, ids: Sequence[int], variables: Mapping[str, str]) -> None:
        """`variables`: shared by all runs of the batch."""
        self._store = BatchStore(client.database)
        self._jobs = client.jobs.asked_for(ids) if ids else []
        self._runs = self._store.of_jobs(ids) if ids else {}
        self.specs = [_with_own_variables(job, variables) for job in self._jobs]
        self._take_requests_along()

    def _take_requests_along(self) -> None:
        """Copy each run's own request from its earlier batch."""
        folders = {batch_id: self._store.get(batch_id).folder for batch_id, _ in self._runs.values()}
        batches = {batch_id: Batch(folder) for batch_id, folder in folders.items() if os.path.exists(folder)}
        for job in self._jobs:
            batch_id, number = self._runs.get(job.id, (0, 0))
            if batch_id in batches and len(batches[batch_id].requests) > 1:
                job.spec.slurm = batches[batch_id].runs[number].spec.slurm

    @property
    def ids(self) -> list[int]:
        return [job.id for job in self._jobs]

    @property
    def attempts(self) -> dict[int, int]:
        return {job.id: job.attempts for job in self._jobs}

    def join(self, batch_id: int, first: int) -> None:
        """Within the caller's transaction: make them runs of this batch, from number `first` on."""
        self._store.join(batch_id, self.ids, first)

    def put_back(self) -> None:
        """Within the caller's transaction: move them back to where they were."""
        self._store.put_back({job.id: job.host_id for job in self._jobs}, self._runs)


def _with_own_variables(job: EarlierJob, shared: Mapping[str, str]) -> JobSpec:
    """The job with only the variables that the others of its batch do not have."""
    own = {name: value for name, value in (job.spec.variables or {}).items() if shared.get(name) != value}
    job.spec.variables = own or None
    return job.spec
