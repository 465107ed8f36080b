"""A machine's three clocks, which move only when a test moves them."""

from __future__ import annotations

import time

from duckrow.core.clock import Now


class HandClock:
    def __init__(self, now: Now | None = None) -> None:
        """It begins with the present, so that what others write by the real clocks lies close by."""
        self._now = now or Now(time.time(), time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME))
        self.settings = 0  # how often somebody has set the wall clock

    def now(self) -> Now:
        return self._now

    def go_on(self, seconds: float) -> None:
        wall, mono, boot = self._now
        self._now = Now(wall + seconds, mono + seconds, boot + seconds)

    def go_to(self, mono: float) -> None:
        """To this very moment: a sum of spans would miss it by a rounding."""
        wall, before, boot = self._now
        self._now = Now(wall + mono - before, mono, boot + mono - before)

    def sleep(self, seconds: float) -> None:
        """The machine is suspended meanwhile: its monotonic clock stands still."""
        wall, mono, boot = self._now
        self._now = Now(wall + seconds, mono, boot + seconds)

    def set_wall(self, wall: float) -> None:
        self._now = self._now._replace(wall=wall)
        self.settings += 1
