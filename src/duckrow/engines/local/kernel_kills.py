"""Whether the kernel has killed processes because the machine, or a cgroup, ran out of memory."""

from __future__ import annotations

import math
import time

_FILE, _COUNTER = "/proc/vmstat", b"oom_kill "
_FRESH_S = 1.0  # reading it takes a tenth as long as a `true`, so attempts that begin together share a count


class KernelKills:
    """Counts them for the whole machine, not by process: first rule out that something else killed the process."""

    def __init__(self) -> None:
        self._count: int | None = None
        self._counted_at = -math.inf

    def count(self) -> int | None:
        """How many there were since boot, a moment ago; None if this kernel does not count them."""
        now = time.monotonic()
        if now - self._counted_at > _FRESH_S:
            self._count, self._counted_at = _counted(), now
        return self._count

    def since(self, before: int | None) -> bool | None:
        """Whether there were any since this count; None: unknown."""
        counted = _counted()
        return None if before is None or counted is None else counted > before


def _counted() -> int | None:
    try:
        with open(_FILE, "rb") as file:
            return next((int(line[len(_COUNTER) :]) for line in file if line.startswith(_COUNTER)), None)
    except OSError:
        return None
