"""Places where a test can make the scheduler die, as if by SIGKILL: `DUCKROW_CRASH_AT=recorded:3` (the third time)."""

from __future__ import annotations

import os
import signal

_wanted, _, _count = os.environ.get("DUCKROW_CRASH_AT", "").partition(":")
_left = int(_count or 1)

POINTS = ("observed", "decided", "recorded", "half-acted", "acted")


def reach(point: str) -> None:
    global _left
    if point == _wanted:
        _left -= 1
        if _left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
