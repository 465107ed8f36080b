"""What do cgroups cost jobs that end at once? 1,000 x `true`, with cgroups on and off in turn."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.measure import DUCKROW, interleaved, own_duckrow, seconds, table

JOBS = 1000
ROUNDS = 11
MOST = 1.03  # times as long as without
ON, OFF = "cgroups on", "cgroups off"


def main() -> None:
    with own_duckrow() as folder:
        file = folder / "commands"
        file.write_text("true\n" * JOBS)
        taken = interleaved({OFF: lambda: _run(file, "off"), ON: lambda: _run(file, "auto")}, ROUNDS)
        title = f"{JOBS} x `true` on 2 slots, ms a job (median of {ROUNDS} interleaved rounds; aim: {MOST} x)"
        table(title, taken, "ms", 1000 / JOBS, against=OFF)


def _run(file: Path, cgroups: str) -> float:
    os.environ["DUCKROW_CGROUPS"] = cgroups
    return seconds([DUCKROW, "run", "--slots", "2"], file)


if __name__ == "__main__":
    main()
