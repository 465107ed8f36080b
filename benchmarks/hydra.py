"""What does a Hydra multirun cost? Short runs: on this machine, and on a SLURM cluster if there is one.

Beside duckrow: Hydra's own launcher, which runs one after the other; on SLURM hydra-submitit-launcher, where each run
is a SLURM job, and chunks of runs with a process for each, as clusterduck made them.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.measure import interleaved, own_duckrow, seconds, table
from benchmarks.ratios import note
from benchmarks.slurm import JOBS, PARALLEL, cluster

FEW, RUNS = 50, 200
ROUNDS_ON_SLURM = int(os.environ.get("BENCH_ROUNDS", "1"))  # a round takes minutes
BASIC, SLURM = "basic, one after the other", "duckrow_slurm, 4 jobs"
SCRIPT = """
import time
import hydra

@hydra.main(version_base=None, config_path=None)
def main(cfg):
    time.sleep(cfg.nap)
    return cfg.x

main()
"""


def main() -> None:
    if not importlib.util.find_spec("hydra"):
        print("\nHydra launchers are measured with hydra-core, which is not installed here.")
        return
    with own_duckrow() as folder:
        (folder / "app.py").write_text(SCRIPT)
        on_this_machine(folder)
        if shutil.which("slurmctld", path=f"{os.environ['PATH']}:/usr/sbin"):
            with cluster():
                on_slurm(folder)
        else:
            print("\nThere is no SLURM here, so duckrow_slurm is not measured.")


def on_this_machine(folder: Path) -> None:
    """Runs that do nothing: what is left is what the launchers do."""
    contestants = {
        BASIC: partial(multirun, folder, "basic", FEW, 0.0),
        "duckrow_local": partial(multirun, folder, "duckrow_local", FEW, 0.0),
        "duckrow_local, warm=false": partial(multirun, folder, "duckrow_local", FEW, 0.0, "hydra.launcher.warm=false"),
    }
    table(f"{FEW} runs that do nothing, on this machine", interleaved(contestants, 3), "s", 1, BASIC)


def on_slurm(folder: Path) -> None:
    keys = {"cpus_per_task": PARALLEL, "time": "10m", "parallel_runs": PARALLEL, "runs_per_job": RUNS // JOBS}
    ours = [f"hydra.launcher.{key}={value}" for key, value in keys.items()]
    contestants: dict[str, Callable[[], float]] = {SLURM: partial(multirun, folder, "duckrow_slurm", RUNS, 0.2, *ours)}
    if importlib.util.find_spec("hydra_plugins.hydra_submitit_launcher"):
        os.environ["PYTHONPATH"] = str(Path(__file__).parent / "chunk_launcher")
        limit = "hydra.launcher.timeout_min=10"
        contestants["clusterduck's way, 4 jobs"] = partial(multirun, folder, "chunks", RUNS, 0.2)
        contestants["submitit_slurm, a job each"] = partial(multirun, folder, "submitit_slurm", RUNS, 0.2, limit)
    title = f"{RUNS} runs of 0.2 s on {JOBS * PARALLEL} places of a cluster"
    taken = interleaved(contestants, ROUNDS_ON_SLURM)
    table(title, taken, "s", 1, SLURM)
    one_run = [sys.executable, str(folder / "app.py"), "+x=1", "+nap=0", f"hydra.run.dir={folder}/one"]
    least_s = RUNS * 0.2 / (JOBS * PARALLEL) + seconds(one_run)
    print(f"  {'the naps and one composition':<34} {least_s:9.2f} s")
    note(f"{title}: {SLURM} / the naps and one composition", taken[SLURM] / least_s)


def multirun(folder: Path, launcher: str, runs: int, nap_s: float, *words: str) -> float:
    out = tempfile.mkdtemp(dir=folder)
    overrides = [f"+x=range({runs})", f"+nap={nap_s}", f"hydra/launcher={launcher}", f"hydra.sweep.dir={out}", *words]
    taken_s = seconds([sys.executable, str(folder / "app.py"), "--multirun", *overrides])
    assert len(list(Path(out).glob("*/.hydra/config.yaml"))) == runs, f"{launcher} has not run all of them"
    return taken_s


if __name__ == "__main__":
    main()
