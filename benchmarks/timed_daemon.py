"""A daemon that notes how long its ticks take: `python -m benchmarks.timed_daemon FILE`, then as `duckrow up`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from duckrow.cli.main import run_cli
from duckrow.scheduler.loop import Loop

_WORTH_NOTING_S = 0.002


def note_ticks(file: Path) -> None:
    """Append a line with seconds by the clock and of CPU time for each tick that is not short."""
    tick: Callable[[Loop], None] = Loop._tick

    def timed(loop: Loop) -> None:
        began, cpu = time.perf_counter(), time.thread_time()
        tick(loop)
        took_s, cpu_s = time.perf_counter() - began, time.thread_time() - cpu
        if took_s > _WORTH_NOTING_S:
            with file.open("a") as notes:
                notes.write(f"{took_s} {cpu_s}\n")

    Loop._tick = timed  # type: ignore[method-assign, assignment]


def longest_tick(file: Path, skip: int) -> tuple[float, float, int]:
    """Of those after the first `skip`: the longest by the clock, the longest of CPU time; and how many there are."""
    lines = file.read_text().splitlines() if file.exists() else []
    ticks = [tuple(map(float, line.split())) for line in lines[skip:]]
    return max((tick[0] for tick in ticks), default=0.0), max((tick[1] for tick in ticks), default=0.0), len(lines)


if __name__ == "__main__":
    note_ticks(Path(sys.argv[1]))
    sys.exit(run_cli(["up", "--foreground", *sys.argv[2:]]))
