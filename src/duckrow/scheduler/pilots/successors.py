"""Whether a pilot with nothing to take is still needed, because no other cluster job would take some runs."""

from __future__ import annotations

import time

from duckrow.clusters.batch import Batch
from duckrow.clusters.lapsing import lapse
from duckrow.clusters.port import SHORT_S, Cluster, OwnJob, answer_within
from duckrow.clusters.room_in_jobs import left_over
from duckrow.clusters.tending import Tending
from duckrow.core.errors import DuckrowError

_ASK_S = 5.0  # how often a waiting pilot asks the cluster


class Successors:
    """Perhaps nobody is on the login node, and we cannot submit from here. So the last pilot takes what is left."""

    def __init__(self, batch: Batch, cluster: Cluster, own_job: OwnJob) -> None:
        self._batch = batch
        self._cluster = cluster
        self._us = own_job
        self._ask_at = 0.0
        self._left: list[int] = []

    def left_over(self) -> list[int]:
        """The runs that only we will take; the claims on some may not have lapsed yet. Empty: others take them all."""
        if time.monotonic() >= self._ask_at:
            self._ask_at = time.monotonic() + _ASK_S
            self._left = self._look()
        return self._left

    def _look(self) -> list[int]:
        tending = Tending(self._batch, self._cluster)
        tending.claims.look()
        if len(tending.claims.done) == self._batch.count:
            return []
        try:
            tending.look(answer_within(self._us.ask(), SHORT_S))
        except DuckrowError:
            return []  # the cluster does not answer here: the next duckrow command on a login node takes care of it
        if lapse(tending):
            tending.claims.look()
        return left_over(tending, self._us.facts.name)

    def ask_again(self) -> None:
        """Something has changed since we asked the cluster."""
        self._ask_at = 0.0

    def cancel_useless(self) -> None:
        """When all is done: cancel jobs that have not begun, as they would find nothing."""
        tending = Tending(self._batch, self._cluster)
        tending.claims.look()
        if len(tending.claims.done) == self._batch.count and not tending.all_began():
            try:
                tending.cancel_useless()
            except DuckrowError:
                pass  # they will find nothing to take, and end
