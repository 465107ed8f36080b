"""When the next tick is due."""

from __future__ import annotations

from duckrow.core.ports import Engine
from duckrow.scheduler.memory.watch import Watch
from duckrow.scheduler.state.host_state import HostState

_BATCH_S = 0.015  # how long the ends of short jobs may wait to be written together
_REST_S = 0.005  # how long wishes wait before they look again whether the log was moved


class Waking:
    def __init__(self, state: HostState, engine: Engine, watch: Watch) -> None:
        self._state = state
        self._engine = engine
        self._watch = watch

    def until_tick_s(self, mono: float) -> float | None:
        """For how long there is nothing to do unless something happens; None: for ever."""
        state = self._state
        if state.is_due or state.delays.rang or self._watch.has_news:
            return 0
        dues = [state.wake_mono, self._watch.due_mono(mono), self._watch.faults_due_mono(mono)]
        if state.lined_up:
            dues.append(state.ticked_mono + state.pace.slow_s)  # a lined-up job may wait behind a slow one
        if state.wishes.is_resting:
            dues.append(state.ticked_mono + _REST_S)
        if state.reports:
            dues.append(state.ticked_mono + _BATCH_S if self._all_lined_up() else mono)
        known = [due for due in dues if due is not None]
        return max(min(known) - mono, 0) if known else None

    def _all_lined_up(self) -> bool:
        """Whether every device has its next jobs lined up, so that the ends of short jobs can be written together."""
        lined_up = self._engine.lined_up()
        return self._state.dispatching and lined_up > len(self._state.live) - lined_up
