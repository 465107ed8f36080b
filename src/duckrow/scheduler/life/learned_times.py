"""How long jobs of this host will run: read from the attempts of the past when it first matters."""

from __future__ import annotations

from duckrow.scheduler.state.host_state import LEAST_S, HostState
from duckrow.store.jobs.answers import AnswerStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from duckrow.core.schedule.run_times import RunTimes

_LOOKED_AT = 1000  # successful attempts


class LearnedTimes:
    def __init__(self, state: HostState, store: AnswerStore) -> None:
        self._state = state
        self._store = store

    def read(self) -> RunTimes | None:
        """Most runs never need them. From then on, the state learns from each attempt that ends."""
        if self._state.run_times is None:
            self._state.know_times(self._store.run_times(_LOOKED_AT, LEAST_S))
        return self._state.run_times
