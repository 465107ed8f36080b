"""The tender: copies the results of runs on clusters, and submits missing cluster jobs.

Opening a client does neither: call `copy` or `submit`. They cost one database query if nothing is on a cluster.
"""

from __future__ import annotations

import math
import time

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from duckrow.api.clusters.batches import Batches
    from duckrow.api.session import Session
    from duckrow.clusters.port import ClusterOf
    from duckrow.store.batches import BatchStore, Standing

COPY_S = 0.2  # between two looks at the folders of batches
_GLANCE_S = 0.05  # between two glances whether a batch has ended
_SHARE = 20  # if one takes long, rest this many times as long
_LONGEST_REST_S = 2.0  # but no longer: one sbatch may take seconds, and then somebody waits for its runs

NOW_AND_THEN_S = 30.0  # how often commands that only look ask the cluster
WAITING_S = 3.0  # how often waiting commands ask the cluster
PATIENCE_S = 5.0  # how long a command waits for the answer; one that asks again need not wait


def rest_after(took_s: float, least_s: float, share: float = _SHARE) -> float:
    """How long to rest after a look that took this long, because there are many runs or no core is free.

    For all who look again and again whether jobs have ended. `share`: rest this many times as long.
    """
    return min(max(least_s, share * took_s), _LONGEST_REST_S)


class Tender:
    def __init__(self, session: Session, cluster_of: ClusterOf | None = None) -> None:
        """`cluster_of`: finds the cluster of a request; None: among those that duckrow knows."""
        self._session = session
        self._cluster_of = cluster_of
        self._batches: Batches | None = None
        self._copied_at = -math.inf
        self._rest_s = COPY_S
        self._glance_at = -math.inf

    @property
    def _store(self) -> BatchStore:
        from duckrow.store.batches import BatchStore  # not every client asks whether something is on a cluster

        return BatchStore(self._session.database)

    @property
    def batches(self) -> Batches:
        """Loaded only if something is on a cluster."""
        if self._batches is None:
            from duckrow.api.clusters.batches import Batches
            from duckrow.clusters.known import cluster_of

            self._batches = Batches(self._session, self._cluster_of or cluster_of)
        return self._batches

    def close(self) -> None:
        if self._batches is not None:
            self._batches.close()

    def has_news(self) -> bool:
        """Whether something new was copied since the last call."""
        news = self._batches is not None and bool(self._batches.news)
        if self._batches is not None:
            self._batches.news.clear()
        return news

    def notes(self) -> list[str]:
        """Events that somebody who waits or wants runs should hear about; each once."""
        if self._batches is None:
            return []
        notes = list(self._batches.notes)
        self._batches.notes.clear()
        return notes

    def copy(self) -> None:
        """Record the progress of runs on clusters from the folders of their batches. It submits nothing."""
        if time.monotonic() - self._copied_at >= COPY_S and self._store.any():
            self.batches.copy()
            self._copied_at = time.monotonic()

    def look(self, every_s: float = NOW_AND_THEN_S) -> dict[int, Standing]:
        """The status of unfinished batches, as the cluster last reported it. It submits nothing."""
        if not self._store.any_open():
            return {}
        self.batches.look(every_s, PATIENCE_S)
        return self._store.standings()

    def submit(self, every_s: float = 0.0, patience_s: float = PATIENCE_S) -> None:
        """Copy, and submit missing cluster jobs, unless somebody did so within the last `every_s` seconds."""
        if self._store.any():
            self.batches.copy()
            self.batches.submit(every_s, patience_s)

    def see_to(self) -> bool:
        """For waiting callers, who call this again and again. True: a batch has just ended, and need not be awaited."""
        began = time.monotonic()
        ended = began >= self._glance_at and self._has_ended(began)
        if ended or began - self._copied_at >= self._rest_s:
            self.submit(WAITING_S, patience_s=0.0)
            self._copied_at = time.monotonic()
            self._rest_s = rest_after(self._copied_at - began, COPY_S)
        return ended

    def _has_ended(self, now: float) -> bool:
        """Whether one of the batches has, which we have not copied yet."""
        ended = self._batches is not None and self._batches.any_has_all_results()
        self._glance_at = now + rest_after(time.monotonic() - now, _GLANCE_S)
        return ended

    def standings(self) -> dict[int, Standing]:
        """The status of batches as last recorded."""
        return self._store.standings()
