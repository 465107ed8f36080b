"""When somebody sets the wall clock: what people are shown of what goes on is restated by the clock as it is now.

Nothing that is decided depends on it. But a job would seem to have run for two hours more, or for less than nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from duckrow.core.clock import Now

if TYPE_CHECKING:
    from duckrow.scheduler.loop import Loop

_STEP_S = 1.0  # less is not worth a word


class ClockSteps:
    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._wall_at_boot: float | None = None

    def look(self, now: Now) -> None:
        """Within the tick's transaction."""
        before = self._wall_at_boot
        if before is not None and abs(now.wall_at_boot - before) < _STEP_S:
            return
        if before is not None:
            self._loop.host.rows.restate_start(self._loop.host.id, now.wall_at_boot - before)
        self._loop.delays.restate(now)
        for attempt in self._loop.live.values():
            if abs(now.wall_at_boot - attempt.started.wall_at_boot) >= _STEP_S:
                attempt.started = attempt.started._replace(wall=now.wall_at_boot + attempt.started.boot)
                self._loop.store.attempts.restate_start(attempt)
        self._wall_at_boot = now.wall_at_boot
