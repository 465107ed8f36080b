"""What does a job cost? 1,000 jobs that do nothing, on 2 slots, start of the program and durable record included."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import DUCKROW, interleaved, on_path, own_duckrow, seconds, table

JOBS = 1000
FLOOR = [sys.executable, str(Path(__file__).with_name("floors.py"))]


def main() -> None:
    with own_duckrow() as folder:
        for command in ("true", "/bin/true"):
            file = folder / "commands"
            file.write_text(f"{command}\n" * JOBS)
            title = f"{JOBS} x `{command}` on 2 slots, ms a job (median of 5 interleaved rounds)"
            table(title, interleaved(contestants(file)), "ms", 1000 / JOBS, against="xargs -P2")


def contestants(file: Path) -> dict[str, Callable[[], float]]:
    found: dict[str, Callable[[], float]] = {
        "xargs -P2": lambda: seconds(["xargs", "-P2", "-I{}", "sh", "-c", "{}"], file),
        "posix_spawn and pidfd": lambda: seconds([*FLOOR, str(file)]),
        "posix_spawn, pidfd and SQLite": lambda: seconds([*FLOOR, str(file), f"{file}.db"]),
        "the same, a session for each": lambda: seconds([*FLOOR, "--sessions", str(file), f"{file}.db"]),
        "duckrow run --slots 2": lambda: seconds([DUCKROW, "run", "--slots", "2"], file),
        "duckrow run --devices 0,1": lambda: seconds([DUCKROW, "run", "--devices", "0,1"], file),
    }
    rival = Path(sys.executable).with_name("simple_gpu_scheduler")
    if rival.exists():
        found["simple_gpu_scheduler"] = lambda: seconds([str(rival), "--gpus", "0,1"], file)
    if on_path("parallel"):
        found["GNU parallel -j2"] = lambda: seconds(["parallel", "--will-cite", "-j2"], file)
    if on_path("tsp"):
        found["task-spooler"] = lambda: _task_spooler(file)
    return found


def _task_spooler(file: Path) -> float:
    """Its list holds 1,000 jobs at the most, so it is given a tenth, and that is multiplied."""
    subprocess.run(["tsp", "-K"], check=False)
    subprocess.run(["tsp", "-S", "2"], check=True, stdout=subprocess.DEVNULL)
    began = time.perf_counter()
    for command in file.read_text().split("\n")[: JOBS // 10]:
        subprocess.run(["tsp", "-n", "sh", "-c", command], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["tsp", "-w"], check=False, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 10


if __name__ == "__main__":
    main()
