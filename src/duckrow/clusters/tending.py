"""Tending a batch: submits missing pilots to the cluster, and cancels useless ones.

Several processes may do it at once without harm: a pilot too many finds nothing to take, and ends.
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
        """Submit as many pilots as there is work for, as far as the cluster lets us. Returns the jobs.

        Submit all that will be needed, so that nobody has to come back. The cluster decides how many run at a time.
        """
        wanted = {group: missing(self, group) for group in self.groups_with_work()}
        self._cancel_waiting(list(self.held()))  # they are replaced
        submitted: list[str] = []
        refused: list[ClusterRefused] = []
        for group, indices in wanted.items():
            try:
                submitted += self._submit_group(group, indices) if not self.why_group_still(group) else []
            except ClusterRefused as error:  # other requests may still be accepted
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
                    break  # the current jobs take more runs, and more jobs follow when there is room
                raise
        return submitted

    def _submit(self, group: int, numbers: list[int]) -> list[str]:
        """The indices of an array begin with 0, because clusters limit how large they get; `first` goes beside them."""
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
        """How many jobs of a new array may run at a time, and the array that it must wait for."""
        most, living = self.batch.request.max_jobs, self.living(group)
        if most is None or len(living) < most:
            return (None if most is None else most - len(living)), None
        return most, max(int(job.partition("_")[0]) for job in living)

    def check(self) -> None:
        """If runs ask for different things: raise what the cluster would refuse, before anything is submitted."""
        groups = range(len(self.batch.requests))
        for group in groups if len(groups) > 1 else []:
            try:
                self._cluster.check(self._pilots(group))
            except ClusterRefused as error:
                error.request = self.batch.requests[group]
                raise

    def cancel_all(self) -> None:
        """Cancel everything that was submitted, also jobs that have begun."""
        self._cluster.cancel(sorted(names(self.batch.submitted)))

    def cancel_useless(self) -> None:
        """When all runs are done: cancel pilots that have not begun, or would begin again."""
        self._cancel_waiting(sorted(names(self.batch.submitted)))

    def _cancel_waiting(self, jobs: list[str]) -> None:
        self._cluster.cancel(jobs, only_waiting=True)

    def _largest_array(self) -> int:
        if self._array_size is None:
            self._array_size = self._cluster.limits().array_size
        return self._array_size
