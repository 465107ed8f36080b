"""Jobs that must not start yet: until a time of the wall clock, or after a delay in time since boot."""

from __future__ import annotations

from duckrow.kernel.process import boot_id
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from duckrow.core.clock import Now

_SQL = load_queries("delays")

NotBefore = tuple[float | None, float | None, str | None]
"""The columns not_before, not_before_boot, not_before_boot_id."""


def delayed(seconds: float | None, wall: float, boot: float) -> NotBefore:
    """For a job that waits this long from now. The wall time is for people to see, and decides after a reboot."""
    return (None, None, None) if not seconds else (wall + seconds, boot + seconds, boot_id())


class DelayStore:
    """Each call is part of the tick's one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def next(self) -> tuple[float | None, float | None]:
        """When the next one is due: by the wall clock, and by the time since boot."""
        wall, boot = (self._database.execute(_SQL[name]).fetchone()[0] for name in ("next_at_a_time", "next_delayed"))
        return wall, boot

    def release(self, now: Now) -> None:
        """Jobs whose time has come become like all others that wait."""
        self._database.execute(_SQL["release_at_a_time"], {"wall": now.wall})
        self._database.execute(_SQL["release_delayed"], {"boot": now.boot})

    def end_those_of_earlier_boots(self) -> None:
        """The time since boot has started again, so the wall time decides."""
        self._database.execute(_SQL["end_delays_of_earlier_boots"], {"boot_id": boot_id()})

    def restate(self, now: Now) -> None:
        """The wall clock was set: show when the delays are over by the clock as it is now."""
        self._database.execute(_SQL["restate_delays"], {"wall_at_boot": now.wall_at_boot})
