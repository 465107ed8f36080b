"""The tender: the one who copies what became of runs on clusters, and submits what is missing there.

Nobody is tended by opening a client. `copy` and `submit` are called by name, and cost one question to the database
where nothing is on a cluster.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from duckrow.store.batches import BatchStore

if TYPE_CHECKING:
    from duckrow.api.clusters.batches import Batches
    from duckrow.api.session import Session
    from duckrow.clusters.port import ClusterOf
    from duckrow.store.batches import Standing

COPY_S = 0.2  # between two looks at the folders of batches
NOW_AND_THEN_S = 30.0  # how often those who look, or come by, ask the cluster
WAITING_S = 3.0  # how often those ask the cluster who wait
PATIENCE_S = 5.0  # how long they then wait for its answer; who comes again needs none


class Tender:
    def __init__(self, session: Session, cluster_of: ClusterOf | None = None) -> None:
        """`cluster_of`: the cluster that a request is for; None: one of those that duckrow knows."""
        self._session = session
        self._cluster_of = cluster_of
        self._store = BatchStore(session.database)
        self._batches: Batches | None = None
        self._copied_at = -math.inf

    @property
    def batches(self) -> Batches:
        """Loaded when there is something on a cluster."""
        if self._batches is None:
            from duckrow.api.clusters.batches import Batches
            from duckrow.clusters.known import cluster_of

            self._batches = Batches(self._session, self._cluster_of or cluster_of)
        return self._batches

    def close(self) -> None:
        if self._batches is not None:
            self._batches.close()

    def has_news(self) -> bool:
        """Whether something new was copied since this was last asked."""
        news = self._batches is not None and bool(self._batches.news)
        if self._batches is not None:
            self._batches.news.clear()
        return news

    def copy(self) -> None:
        """Write down what has become of runs on clusters, from the folders of their batches. It submits nothing."""
        if time.monotonic() - self._copied_at >= COPY_S and self._store.any():
            self.batches.copy()
            self._copied_at = time.monotonic()

    def look(self, every_s: float = NOW_AND_THEN_S) -> dict[int, Standing]:
        """How batches that are not done stand, by what the cluster says now and then. It submits nothing."""
        if not self._store.any_open():
            return {}
        self.batches.look(every_s, PATIENCE_S)
        return self._store.standings()

    def submit(self, every_s: float = 0.0, patience_s: float = PATIENCE_S) -> None:
        """Copy, and submit what is missing; `every_s`: unless somebody did so less than so long ago."""
        if self._store.any():
            self.batches.copy()
            self.batches.submit(every_s, patience_s)

    def see_to(self) -> None:
        """For those who wait and come again and again."""
        if time.monotonic() - self._copied_at >= COPY_S:
            self.submit(WAITING_S, patience_s=0.0)
            self._copied_at = time.monotonic()

    def standings(self) -> dict[int, Standing]:
        """As somebody last saw them."""
        return self._store.standings()
