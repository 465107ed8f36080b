"""Watches the runs of a batch: what has changed, and whether more can change."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from duckrow.api.clusters.tender import WAITING_S
from duckrow.clusters.batch import Batch
from duckrow.clusters.shared_files import names

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.api.queue.views import JobView

_GLANCES = 5  # how often we glance at the folder of results while we rest


def batches_of(client: Client, ids: Sequence[int]) -> set[int]:
    """The batches that these jobs belong to."""
    return {run.batch_id for run in client.batches.of_jobs(ids).values()}


def still_batches(client: Client) -> dict[int, str]:
    """The batches for which nothing more is submitted, and why."""
    return client.batches.still()


class WatchedRuns:
    """Runs of one batch, polled by somebody who waits for them."""

    def __init__(self, client: Client, ids: Sequence[int]) -> None:
        self._client, self._ids = client, dict.fromkeys(ids)
        self.batch_id = client.batches.of_jobs(ids[:1])[ids[0]].batch_id
        row = client.batches.store.get(self.batch_id)
        self.name, self._batch = row.name, Batch(row.folder)
        self._results = 0  # how many there were before our last look
        client.batches.news |= self._ids  # what others saw before we began to watch

    def changed(self) -> list[JobView]:
        """Submit missing cluster jobs; returns the runs that have changed since the last look."""
        self._results = len(names(self._batch.results))
        self._client.tender.submit(WAITING_S, patience_s=0.0)
        news = self._client.batches.news
        changed = [job_id for job_id in news if job_id in self._ids]
        news.clear()
        return self._client.views(changed)

    def rest(self, rest_s: float, left: int) -> None:
        """Rest this long, or until there are as many new results as runs are left."""
        for _ in range(_GLANCES):
            time.sleep(rest_s / _GLANCES)
            if len(names(self._batch.results)) - self._results >= left:
                return

    def why_still(self) -> str | None:
        """Why nothing more is submitted for it."""
        return self._client.batches.still().get(self.batch_id)
