"""Which runs of a batch a pilot may take: those that ask for no more than it has."""

from __future__ import annotations

from functools import cached_property

from duckrow.clusters.batch import Batch, BatchRun
from duckrow.core.clusters.groups import satisfies


class PilotShare:
    def __init__(self, batch: Batch, group: int) -> None:
        """`group`: the request that our cluster job was submitted for."""
        self.batch = batch
        self.group = group
        self.request = batch.requests[group]
        self._groups = {number for number, wanted in enumerate(batch.requests) if satisfies(self.request, wanted)}

    def is_ours(self, run: int) -> bool:
        """Whether it asks for exactly what we have: perhaps no other pilot has that."""
        return self.batch.group_of(run) == self.group

    def may_take(self, run: int) -> bool:
        return self.batch.group_of(run) in self._groups

    def time_of(self, run: int) -> float | None:
        """How much time a run of another request may need: what that request asks the cluster for."""
        return None if self.is_ours(run) else self.batch.request_of(run).time

    @cached_property
    def _runs(self) -> list[BatchRun]:
        return [run for run in self.batch.runs if run.group in self._groups]

    @property
    def gpus(self) -> set[int | None]:
        """The numbers of GPUs that our runs ask for."""
        return {run.spec.gpus for run in self._runs}

    @cached_property
    def is_by_memory(self) -> bool:
        """Whether our runs share GPUs by memory."""
        needs = [run.spec.needs for run in self._runs]
        return any(need.gpu_mem_mb or need.total_gpu_mem_mb or need.auto for need in needs)
