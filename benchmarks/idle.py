"""What does the daemon cost when there is nothing to do? Processor time over ten seconds."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from benchmarks.measure import duckrow, own_duckrow

SECONDS = 10


def main() -> None:
    with own_duckrow():
        duckrow("up", "--slots", "2")
        print(f"\nThe daemon at rest, share of a core over {SECONDS} s")
        print(f"  nothing to do                      {share_of_core() * 100:9.3f} %")
        for _ in range(2):
            duckrow("submit", "--", "sleep 600")
        print(f"  two sleeping jobs                  {share_of_core() * 100:9.3f} %")


def share_of_core() -> float:
    with sqlite3.connect(Path(os.environ["DUCKROW_HOME"]) / "duckrow.db") as database:
        (pid,) = database.execute("SELECT pid FROM hosts WHERE id = 1").fetchone()
    time.sleep(1)  # let it settle
    before = cpu_s(pid)
    time.sleep(SECONDS)
    return (cpu_s(pid) - before) / SECONDS


def cpu_s(pid: int) -> float:
    """By the scheduler's account in nanoseconds: the usual one counts in hundredths of a second."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


if __name__ == "__main__":
    main()
