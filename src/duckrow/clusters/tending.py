"""Tending a batch: missing pilots are submitted to the cluster, useless ones cancelled.

All of it may be done by several at once without harm: a pilot too many finds nothing to take and ends.
"""

from __future__ import annotations

import time

from duckrow.clusters.batch import Batch
from duckrow.clusters.batch_jobs import BatchJobs
from duckrow.clusters.port import Cluster, ClusterRefused, PilotArray, PilotJobs, TooMany
from duckrow.clusters.room_in_jobs import missing
from duckrow.clusters.shared_files import names


class Tending(BatchJobs):
    def __init__(self, batch: Batch, cluster: Cluster) -> None:
        super().__init__(batch)
        self._cluster = cluster
        self._array_size: int | None = None  # once it has been asked for

    def submit_missing(self) -> list[str]:
        """Submit as many pilots as there is work for, as far as the cluster lets us; the jobs.

        All that will be needed, so that nobody has to come again: how many run at a time is the cluster's to see to.
        """
        wanted = {group: missing(self, group) for group in self.groups_with_work()}
        self._cancel_waiting(list(self.held()))  # they are replaced
        submitted: list[str] = []
        refused: list[ClusterRefused] = []
        for group, indices in wanted.items():
            try:
                submitted += self._submit_group(group, indices) if not self.why_group_still(group) else []
            except ClusterRefused as error:  # those that ask for something else may be welcome
                error.request = self.batch.requests[group]
                refused.append(error)
        if refused:
            raise refused[0]
        return submitted

    def _submit_group(self, group: int, indices: list[int]) -> list[str]:
        submitted: list[str] = []
        if not indices:
            return submitted
        largest = self._largest_array()
        size = min(largest, len(indices))
        while indices:
            part = [index for index in indices[:size] if index - indices[0] < largest]
            try:
                submitted += self._submit(group, part)
                indices = indices[len(part) :]
            except TooMany:
                if size > 1:
                    size = (size + 1) // 2
                    continue
                if submitted or self.living():
                    break  # the present ones take more, and others come when there is room
                raise
        return submitted

    def _submit(self, group: int, numbers: list[int]) -> list[str]:
        """The indices of an array begin with 0, so that many are not too large; `first` is told beside them."""
        first = numbers[0]
        indices = [number - first for number in numbers]
        array = PilotArray(indices, first, *self._throttle(group))
        number = self._cluster.submit(self._pilots(group), array)
        noted = {"first": first, "indices": indices, "at": time.time(), **({"group": group} if group else {})}
        return self.note_submitted(number, noted)

    def _pilots(self, group: int) -> PilotJobs:
        batch = self.batch
        return PilotJobs(
            batch.folder, batch.requests[group], batch.python, group, batch.script(group), batch.environment()
        )

    def _throttle(self, group: int) -> tuple[int | None, int | None]:
        """How many of a new array may run at a time, and the array that it has to wait for."""
        most, living = self.batch.request.max_jobs, self.living(group)
        if most is None or len(living) < most:
            return (None if most is None else most - len(living)), None
        return most, max(int(job.partition("_")[0]) for job in living)

    def check(self) -> None:
        """Where runs ask for different things: refuse before any of it is submitted what the cluster would refuse."""
        groups = range(len(self.batch.requests))
        for group in groups if len(groups) > 1 else []:
            try:
                self._cluster.check(self._pilots(group))
            except ClusterRefused as error:
                error.request = self.batch.requests[group]
                raise

    def cancel_all(self) -> None:
        """What was submitted, also where it has begun."""
        self._cluster.cancel(sorted(names(self.batch.submitted)))

    def cancel_useless(self) -> None:
        """When all is done: pilots that have not begun, or would begin again."""
        self._cancel_waiting(sorted(names(self.batch.submitted)))

    def _cancel_waiting(self, jobs: list[str]) -> None:
        self._cluster.cancel(jobs, only_waiting=True)

    def _largest_array(self) -> int:
        if self._array_size is None:
            self._array_size = self._cluster.limits().array_size
        return self._array_size
