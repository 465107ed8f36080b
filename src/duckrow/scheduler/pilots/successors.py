"""Whether a pilot that has nothing to take is still needed: by runs that no other SLURM job would take."""

from __future__ import annotations

import time

from duckrow.clusters.batch import Batch
from duckrow.clusters.slurm import commands
from duckrow.clusters.tending import Tending
from duckrow.core.errors import DuckrowError

_ASK_S = 5.0  # how often SLURM is asked by a pilot that waits


class Successors:
    """Nobody may be on the login node, and nobody can submit from here: so the last pilot sees to what is left."""

    def __init__(self, batch: Batch, slurm_job: str) -> None:
        self._batch = batch
        self._us = slurm_job
        self._ask_at = 0.0
        self._left: list[int] = []

    def left_over(self) -> list[int]:
        """The runs that wait for us alone, or will: some may have yet to lapse. Empty: others see to all there is."""
        if time.monotonic() >= self._ask_at:
            self._ask_at = time.monotonic() + _ASK_S
            self._left = self._look()
        return self._left

    def _look(self) -> list[int]:
        tending = Tending(self._batch)
        tending.claims.look()
        if len(tending.claims.done) == self._batch.count:
            return []
        try:
            tending.look(commands.states_of_jobs(commands.SHORT_S))
        except DuckrowError:
            return []  # SLURM does not answer here: whoever comes by on a login node sees to it
        if tending.lapse():
            tending.claims.look()
        return tending.left_over(self._us)

    def ask_again(self) -> None:
        """Something has changed since SLURM was asked."""
        self._ask_at = 0.0

    def cancel_useless(self) -> None:
        """When all is done: SLURM jobs that have not begun would find nothing."""
        tending = Tending(self._batch)
        tending.claims.look()
        if len(tending.claims.done) == self._batch.count and not tending.all_began():
            try:
                tending.cancel_useless()
            except DuckrowError:
                pass  # they find nothing to take, and end
