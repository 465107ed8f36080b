"""What does it cost to run 200 short commands on a SLURM cluster? Four nodes with four cores each, on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measure import DUCKROW, interleaved, on_path, own_duckrow, table

RUNS, COMMAND = 200, "sleep 0.2"
JOBS, PARALLEL = 4, 4
SCRIPTS = Path(__file__).parent.parent / "tests" / "slurm"
SUBMITIT = f"""
import subprocess, submitit
executor = submitit.AutoExecutor(folder="submitit")
executor.update_parameters(timeout_min=5, slurm_array_parallelism={RUNS})
jobs = executor.map_array(lambda command: subprocess.call(command, shell=True), ["{COMMAND}"] * {RUNS})
assert [job.result() for job in jobs] == [0] * {RUNS}
"""


@contextmanager
def cluster() -> Iterator[None]:
    """A real one, with accounting where that is installed: submitit needs it to see that a job was killed."""
    state = tempfile.mkdtemp(prefix="dk-bench-", dir="/tmp")
    accounting = ["--accounting"] if on_path("slurmdbd") and on_path("mariadbd") else []
    try:
        words = [str(SCRIPTS / "slurm-up"), state, str(JOBS), "0", "--cpus", str(PARALLEL), *accounting]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        os.environ["SLURM_CONF"] = f"{state}/slurm.conf"
        yield
    finally:
        subprocess.run([str(SCRIPTS / "slurm-down"), state, "--wipe"], check=False)


def main() -> None:
    if not shutil.which("slurmctld", path=f"{os.environ['PATH']}:/usr/sbin"):
        print("\nThere is no SLURM here (Debian: apt install slurmctld slurmd slurm-client munge).")
        return
    with own_duckrow() as folder, cluster():
        os.chdir(folder)
        Path("commands").write_text(f"{COMMAND}\n" * RUNS)
        Path("one.sh").write_text(f"#!/bin/sh\n#SBATCH --output=/dev/null\n{COMMAND}\n")
        Path("packed.sh").write_text(
            f"#!/bin/sh\n#SBATCH --output=/dev/null --cpus-per-task={PARALLEL}\n"
            f"head -n {RUNS // JOBS} commands | xargs -P {PARALLEL} -I CMD sh -c CMD\n"
        )
        Path("by_submitit.py").write_text(SUBMITIT)
        contestants = {
            "packed by hand, 4 jobs of 50": lambda: until_done("packed.sh", JOBS),
            "duckrow run --on slurm": by_duckrow,
            "an array of 200 jobs": lambda: until_done("one.sh", RUNS),
            "submitit, a job for each": lambda: checked([sys.executable, "by_submitit.py"]),
        }
        if subprocess.run([sys.executable, "-c", "import submitit"], capture_output=True).returncode:
            del contestants["submitit, a job for each"]
        taken = interleaved(contestants, rounds=3)
        table(f"{RUNS} runs of '{COMMAND}' on {JOBS * PARALLEL} places", taken, "s", 1, "packed by hand, 4 jobs of 50")


def by_duckrow() -> float:
    """Its exit code says that all of them have succeeded."""
    words = ["run", "--on", "slurm", f"--runs-per-job={RUNS // JOBS}", f"--parallel-runs={PARALLEL}"]
    return checked([DUCKROW, *words, f"--cpus-per-task={PARALLEL}", "commands"])


def checked(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def until_done(script: str, jobs: int) -> float:
    """From sbatch until SLURM says that the last of an array has ended."""
    began = time.perf_counter()
    array = f"--array=0-{jobs - 1}"
    job = subprocess.run(["sbatch", "--parsable", array, script], check=True, capture_output=True, text=True).stdout
    while subprocess.run(["squeue", "-h", "-j", job.strip()], capture_output=True, text=True).stdout:
        time.sleep(0.05)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
