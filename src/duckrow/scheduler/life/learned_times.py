"""How long jobs of this host will run: read from the attempts of the past when it first matters."""

from __future__ import annotations

from collections.abc import Sequence

from duckrow.core.devices.inventory import Seat
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.schedule.backfill import may_be_passed
from duckrow.scheduler.state.host_state import LEAST_S, HostState
from duckrow.store.jobs.answers import AnswerStore

TYPE_CHECKING = False  # most runs never ask how long jobs will run
if TYPE_CHECKING:
    from duckrow.core.schedule.run_times import RunTimes

FEWEST = 3
"""Jobs of a batch: with fewer, their order hardly matters."""

_LOOKED_AT = 1000  # successful attempts


class LearnedTimes:
    def __init__(self, state: HostState, store: AnswerStore) -> None:
        self._state = state
        self._store = store

    def if_they_matter(self, queue: Sequence[QueuedJob], seats: Sequence[Seat]) -> RunTimes | None:
        """None: nothing is known, the order of these jobs does not matter, and none could go ahead of another."""
        if order_matters(self._state, queue, seats) or (self._state.live and may_be_passed(queue)):
            return self.read()
        return None

    def read(self) -> RunTimes | None:
        """None: no job has lasted for long. From the first time on, the state learns from each end."""
        state, store = self._state, self._store
        if state.run_times is None and state.may_have_run_times:
            is_any = store.any_run_times(_LOOKED_AT, LEAST_S)
            state.know_times(store.run_times(_LOOKED_AT, LEAST_S) if is_any else None)
        return state.run_times


def order_matters(state: HostState, queue: Sequence[QueuedJob], seats: Sequence[Seat]) -> bool:
    """If more wait than a tick looks at, all keep their turn. If all start now, there is no order."""
    if len(queue) < FEWEST or not state.queue.is_whole or any(seat.gpu_count > 1 for seat in seats):
        return False
    return len(queue) > len(seats) - len(state.live)
