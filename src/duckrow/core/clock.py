"""One moment on the three clocks of a machine, so that nobody confuses them.

Names that end in `_at` are wall time, in `_mono` monotonic time, in `_boot` time since boot. Durations are never
measured by the wall clock, which people and NTP set.
"""

from __future__ import annotations

from duckrow.core.named_tuple import NamedTuple


class Now(NamedTuple):
    wall: float  # seconds since 1970: to show to people, and for times of day
    mono: float  # CLOCK_MONOTONIC, for limits and grace periods: it stops while the machine sleeps
    boot: float  # CLOCK_BOOTTIME, for delays: it keeps counting while the machine sleeps

    def ago(self, seconds: float) -> Now:
        """The moment that long before this one, if the machine did not sleep meanwhile."""
        return Now(self.wall - seconds, self.mono - seconds, self.boot - seconds)

    @property
    def wall_at_boot(self) -> float:
        """When the machine booted, by the wall clock as it is set now. It changes only when somebody sets it."""
        return self.wall - self.boot
