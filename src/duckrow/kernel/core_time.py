"""How long the cores of this machine have been busy, as the kernel counts it."""

from __future__ import annotations

import os
from collections.abc import Collection

_STAT = "/proc/stat"
_IDLE = (3, 4)  # idle, waiting for a disk
_COUNTED = 8  # what follows is counted a second time


def core_time(cores: Collection[int], path: str = _STAT) -> tuple[float, float] | None:
    """How long these cores were busy, and in total, in seconds of a core; None: the kernel does not say."""
    busy = total = 0
    try:
        with open(path, "rb") as file:
            for line in file:
                name, _, numbers = line.partition(b" ")
                if not name.startswith(b"cpu"):
                    break
                if name[3:].isdigit() and int(name[3:]) in cores:
                    ticks = [int(number) for number in numbers.split()[:_COUNTED]]
                    total += sum(ticks)
                    busy += sum(ticks) - sum(ticks[at] for at in _IDLE if at < len(ticks))
    except (OSError, ValueError):
        return None
    in_a_second = os.sysconf("SC_CLK_TCK")
    return (busy / in_a_second, total / in_a_second) if total else None
