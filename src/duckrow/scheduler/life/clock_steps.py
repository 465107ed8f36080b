"""When somebody sets the wall clock, the displayed times of running jobs are restated by the new clock.

No decision depends on this. But without it, a job might seem to have run two hours longer, or for a negative time.
"""

from __future__ import annotations

from duckrow.core.clock import Now
from duckrow.scheduler.life.delays import Delays
from duckrow.scheduler.state.host_state import HostState
from duckrow.store.attempts.attempts import AttemptStore
from duckrow.store.hosts import HostStore

_STEP_S = 1.0  # we ignore smaller steps


class ClockSteps:
    def __init__(self, state: HostState, hosts: HostStore, attempts: AttemptStore, delays: Delays) -> None:
        self._state = state
        self._hosts = hosts
        self._attempts = attempts
        self._delays = delays

    def look(self, now: Now) -> None:
        """Within the tick's transaction."""
        before = self._state.wall_at_boot
        if before is not None and abs(now.wall_at_boot - before) < _STEP_S:
            return
        if before is not None:
            self._hosts.restate_start(self._state.host_id, now.wall_at_boot - before)
        self._delays.restate(now)
        for attempt in self._state.live.values():
            if abs(now.wall_at_boot - attempt.started.wall_at_boot) >= _STEP_S:
                attempt.restate_start(now.wall_at_boot + attempt.started.boot)
                self._attempts.restate_start(attempt)
        self._state.note_clock(now)
