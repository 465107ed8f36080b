"""A machine's three clocks, which move only when a test moves them."""

from __future__ import annotations

import time

from duckrow.core.clock import Now


class HandClock:
    """Only the monotonic clock is moved. The others keep a fixed distance from it. If each moved by itself, rounding
    errors of many short steps would drive the three apart."""

    def __init__(self, now: Now | None = None) -> None:
        """It starts at the present, so that times that others take from the real clocks are close."""
        wall, mono, boot = now or Now(time.time(), time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME))
        self._mono = mono
        self._wall_ahead_s, self._boot_ahead_s = wall - mono, boot - mono
        self.settings = 0  # how often somebody has set the wall clock

    def now(self) -> Now:
        return Now(self._mono + self._wall_ahead_s, self._mono, self._mono + self._boot_ahead_s)

    def go_on(self, seconds: float) -> None:
        self._mono += seconds

    def go_to(self, mono: float) -> None:
        """Go to exactly this moment: a sum of steps would miss it by a rounding error."""
        self._mono = mono

    def sleep(self, seconds: float) -> None:
        """The machine is suspended for this time: its monotonic clock stops."""
        self._wall_ahead_s += seconds
        self._boot_ahead_s += seconds

    def set_wall(self, wall: float) -> None:
        self._wall_ahead_s = wall - self._mono
        self.settings += 1
