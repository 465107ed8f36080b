"""A machine's three clocks, which move only when a test moves them."""

from __future__ import annotations

import time

from duckrow.core.clock import Now


class HandClock:
    """Only the monotonic clock is turned. The others are so far ahead of it: turned by themselves, many short spans
    would drive the three apart, each by its own roundings."""

    def __init__(self, now: Now | None = None) -> None:
        """It begins with the present, so that what others write by the real clocks lies close by."""
        wall, mono, boot = now or Now(time.time(), time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME))
        self._mono = mono
        self._wall_ahead_s, self._boot_ahead_s = wall - mono, boot - mono
        self.settings = 0  # how often somebody has set the wall clock

    def now(self) -> Now:
        return Now(self._mono + self._wall_ahead_s, self._mono, self._mono + self._boot_ahead_s)

    def go_on(self, seconds: float) -> None:
        self._mono += seconds

    def go_to(self, mono: float) -> None:
        """To this very moment: a sum of spans would miss it by a rounding."""
        self._mono = mono

    def sleep(self, seconds: float) -> None:
        """The machine is suspended meanwhile: its monotonic clock stands still."""
        self._wall_ahead_s += seconds
        self._boot_ahead_s += seconds

    def set_wall(self, wall: float) -> None:
        self._wall_ahead_s = wall - self._mono
        self.settings += 1
