"""When the next jobs may start that must not start yet."""

from __future__ import annotations

from duckrow.core.clock import Now


class NextDelays:
    def __init__(self) -> None:
        self.wall: float | None = None  # by the wall clock
        self.boot: float | None = None  # by the seconds since boot
        self.rang = False  # an alarm: there may be something to do

    def are(self, wall: float | None, boot: float | None) -> None:
        """As the database says."""
        self.wall, self.boot = wall, boot

    def note(self, boot: float) -> bool:
        """One more. Whether this is now the next."""
        if self.boot is not None and self.boot <= boot:
            return False
        self.boot = boot
        return True

    def is_due(self, now: Now) -> bool:
        return (self.wall is not None and self.wall <= now.wall) or (self.boot is not None and self.boot <= now.boot)

    def ring(self) -> None:
        self.rang = True

    def hush(self) -> bool:
        """Whether an alarm rang; true only once."""
        rang, self.rang = self.rang, False
        return rang
