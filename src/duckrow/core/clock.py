"""One moment by the three clocks of a machine, so that nobody takes one for another.

By their names: what ends in `_at` is wall time, in `_mono` monotonic time, in `_boot` time since boot. A span is never
measured by the wall clock, which people and NTP set.
"""

from __future__ import annotations

from typing import NamedTuple


class Now(NamedTuple):
    wall: float  # seconds since 1970: to show to people, and for times of day
    mono: float  # CLOCK_MONOTONIC, for limits and graces: it stands still while the machine sleeps
    boot: float  # CLOCK_BOOTTIME, for delays: it keeps counting while the machine sleeps

    @property
    def wall_at_boot(self) -> float:
        """When the machine was booted, by the wall clock as it is set now: it changes only when somebody sets that."""
        return self.wall - self.boot
