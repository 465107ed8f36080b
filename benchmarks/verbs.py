"""Does the cost of a verb grow as its work does? Each on 10,000 and 100,000 jobs: time, memory, longest tick.

BENCH_JOBS chooses other numbers: `BENCH_JOBS=1000000 python -m benchmarks verbs` takes some minutes and 2 GB of disk.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import DUCKROW, duckrow, own_duckrow
from benchmarks.timed_daemon import longest_tick

COUNTS = tuple(int(count) for count in os.environ.get("BENCH_JOBS", "10000,100000").split(","))
# In this order: each finds the jobs as the one before has left them, all of them queued at first and killed later.
VERBS = {
    "submit --file": ("submit", "--file", "{file}"),
    "ls": ("ls", "--limit", "30"),
    "ls --all": ("ls", "--all"),
    "show last": ("show", "last"),
    "why last": ("why", "last"),
    "hold": ("hold", "{ids}"),
    "release": ("release", "{ids}"),
    "priority": ("priority", "40", "{ids}"),
    "kill --all": ("kill", "--all"),
    "wait --all": ("wait", "--all"),
    "rerun": ("rerun", "{ids}"),
    "kill of all again": ("kill", "--all"),
    "rm of half": ("rm", "{half}"),
    "clean": ("clean", "--older-than", "0s"),
}


class Cost(NamedTuple):
    wall_s: float
    cpu_s: float
    memory_mb: float
    tick_s: float  # the longest of the daemon meanwhile, by the clock
    tick_cpu_s: float
    log_mb: float  # of the database's log, afterwards
    code: int


def main() -> None:
    for count in COUNTS:
        print(f"\nA verb on {count:,} jobs that wait, then are killed")
        print(f"  {'':<18}{'time':>10}{'CPU':>10}{'us a job':>10}{'memory':>10}{'longest tick (CPU)':>22}{'log':>10}")
        with own_duckrow() as folder, timed_daemon(folder) as ticks:
            duckrow("pause")
            file = folder / "commands"
            file.write_text("true\n" * count)
            half = count // 2
            words = {"file": str(file), "ids": f"1-{count}", "half": f"1-{half}"}
            for verb, pattern in VERBS.items():
                print(row(verb, cost_of([word.format(**words) for word in pattern], ticks), count), flush=True)


def row(verb: str, cost: Cost, count: int) -> str:
    note = "" if cost.code == 0 else f"  exit code {cost.code}"
    return (
        f"  {verb:<18}{cost.wall_s:8.2f} s{cost.cpu_s:8.2f} s{cost.cpu_s / count * 1e6:10.1f}{cost.memory_mb:7.0f} MB"
        f"{cost.tick_s * 1000:11.0f} ms ({cost.tick_cpu_s * 1000:3.0f}){cost.log_mb:8.0f} MB{note}"
    )


def cost_of(words: list[str], ticks: Path) -> Cost:
    *_, before = longest_tick(ticks, 0)
    began = time.perf_counter()
    child = subprocess.Popen([DUCKROW, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, use = os.wait4(child.pid, 0)
    wall_s = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    tick_s, tick_cpu_s, _ = longest_tick(ticks, before)
    log = Path(os.environ["DUCKROW_HOME"]) / "duckrow.db-wal"
    log_mb = log.stat().st_size / 1e6 if log.exists() else 0.0
    cpu_s = use.ru_utime + use.ru_stime
    return Cost(wall_s, cpu_s, use.ru_maxrss / 1024, tick_s, tick_cpu_s, log_mb, child.returncode)


@contextmanager
def timed_daemon(folder: Path) -> Iterator[Path]:
    """Yields the file in which it notes its ticks."""
    ticks = folder / "ticks"
    command = [sys.executable, "-m", "benchmarks.timed_daemon", str(ticks), "--slots", "1"]
    daemon = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while "daemon is not running" in duckrow("ls", "--json") or not list((folder / "state" / "hosts").iterdir()):
            time.sleep(0.05)
        yield ticks
    finally:
        duckrow("down", "--kill")
        daemon.wait()


if __name__ == "__main__":
    main()
