"""duckrow, but its scheduler dies at a point of its tick, as if by SIGKILL.

`python crashing_duckrow.py recorded:3 up --foreground`: the third time that it has recorded a tick.
"""

from __future__ import annotations

import os
import signal
import sys

from duckrow.cli.main import main
from duckrow.scheduler import crashpoints


def die_at(point: str, times: int) -> None:
    left = times

    def at(reached: str) -> None:
        nonlocal left
        left -= reached == point
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    crashpoints.at = at


if __name__ == "__main__":
    point, _, times = sys.argv.pop(1).partition(":")
    die_at(point, int(times))
    main()
