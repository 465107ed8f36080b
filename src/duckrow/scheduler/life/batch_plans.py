"""In which order the waiting jobs of a batch start: `core/schedule/batch_order.py` has the rule.

A batch is planned when its run times are known, and again when much more is known. Otherwise a tick only looks it up.
"""

from __future__ import annotations

from collections.abc import Sequence

from duckrow.core.devices.inventory import Seat
from duckrow.core.devices.machine import Machine
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.schedule.batch_order import batch_length, best_order
from duckrow.core.schedule.batch_plan import BatchPlan
from duckrow.core.schedule.decide import AskOf
from duckrow.scheduler.life.learned_times import FEWEST
from duckrow.scheduler.state.host_state import HostState

TYPE_CHECKING = False  # most runs never ask how long jobs will run
if TYPE_CHECKING:
    from duckrow.core.schedule.run_times import RunTimes

_KNOWS_BETTER = 1.5  # times as many run times are known
_MORE_RUNS = 8  # at least
_FEW_NEW = 0.1  # of the jobs have come since: they wait behind the others until it is worth a new plan


class BatchPlans:
    def __init__(self, state: HostState, times: RunTimes, ask_of: AskOf) -> None:
        self._state = state
        self._times = times
        self._ask_of = ask_of

    def in_order(
        self, queue: Sequence[QueuedJob], seats: Sequence[Seat], machine: Machine, mono: float
    ) -> tuple[Sequence[QueuedJob], Sequence[BatchPlan]]:
        """The queue, with each batch in its best order, and the plans to remember for that."""
        ordered: list[QueuedJob] = []
        kept: list[BatchPlan] = []
        while len(ordered) < len(queue):
            first = len(ordered)
            batch = queue[first : first + batch_length(queue[first:])]
            plan = self._plan_of(batch, seats, machine, mono) if self._can_be_planned(batch) else None
            if plan is not None:
                kept.append(plan)
                batch = _planned(batch, plan)
            ordered += batch
        return ordered, kept

    def _can_be_planned(self, batch: Sequence[QueuedJob]) -> bool:
        """Until the GPUs have been read, nobody knows what jobs that share them by memory will take."""
        if len(batch) < FEWEST:
            return False
        return self._state.gpus.are_met or not self._state.queue.any_needs

    def _plan_of(self, batch: Sequence[QueuedJob], seats: Sequence[Seat], machine: Machine, mono: float) -> BatchPlan:
        ids = {job.id for job in batch}
        known = next((plan for plan in self._state.plans if len(ids - plan.jobs) <= _FEW_NEW * len(ids)), None)
        if known is None:
            return self._made(batch, seats, machine, mono)
        if self._times.version >= max(known.known * _KNOWS_BETTER, known.known + _MORE_RUNS):
            return self._made(_planned(batch, known), seats, machine, mono)
        return known

    def _made(self, batch: Sequence[QueuedJob], seats: Sequence[Seat], machine: Machine, mono: float) -> BatchPlan:
        """`batch`: in the order in which they came, or in that of the last plan."""
        from duckrow.core.schedule.machine_load import MachineLoad

        load = MachineLoad([seat for seat in seats if not seat.side], machine, self._times.expected, self._ask_of)
        came = load.of_jobs(batch)
        order: list[int] = []
        if came is not None:
            best = best_order(came, load.free(self._state.booked), load.busy(self._state.live.values(), mono))
            order = [each.id for each in best]
        return BatchPlan(order, frozenset([job.id for job in batch]), self._times.version)


def _planned(batch: Sequence[QueuedJob], plan: BatchPlan) -> Sequence[QueuedJob]:
    """In the order of the plan. Who came since then waits behind the others."""
    if not plan.order:
        return batch
    waiting = {job.id: job for job in batch}
    planned = [waiting.pop(job_id) for job_id in plan.order if job_id in waiting]
    return [*planned, *waiting.values()]
