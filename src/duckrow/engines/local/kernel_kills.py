"""Whether the kernel has killed processes because the machine, or a cgroup, ran out of memory."""

from __future__ import annotations

import time

_COUNTER = b"oom_kill "
_TOGETHER_S = 2.0  # if several are killed at once, we are asked about them one by one


class KernelKills:
    """Counts them for the whole machine, not by process: first rule out that something else killed the process."""

    def __init__(self) -> None:
        self._seen = _counted()
        self._rose_at = float("-inf")

    def happened(self) -> bool | None:
        """Whether there were any since the last call; None if this kernel does not count them."""
        before, self._seen = self._seen, _counted()
        if before is None or self._seen is None:
            return None
        if self._seen > before:
            self._rose_at = time.monotonic()
        return time.monotonic() - self._rose_at < _TOGETHER_S


def _counted() -> int | None:
    try:
        with open("/proc/vmstat", "rb") as file:
            return next((int(line[len(_COUNTER) :]) for line in file if line.startswith(_COUNTER)), None)
    except OSError:
        return None
