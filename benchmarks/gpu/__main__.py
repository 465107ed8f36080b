"""`python -m benchmarks.gpu`: 16 small trainings on one GPU, one at a time and packed; needs a GPU and PyTorch.

Nothing is typed about memory: the first packed run learns it, the second knows it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TRAIN = Path(__file__).with_name("train.py")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--alone-runs", type=int, default=4, help="how many to run one at a time, scaled up to all")
    parser.add_argument("--steps", type=int, default=7000)
    parser.add_argument("--only", default="alone,unknown,known,unknown-mps,known-mps")
    options = parser.parse_args()
    chosen = options.only.split(",")
    with tempfile.TemporaryDirectory(prefix="duckrow-gpu-") as folder:
        alone_s = None
        if "alone" in chosen:
            few = argparse.Namespace(**{**vars(options), "runs": options.alone_runs})
            alone_s = measure(f"{few.runs} one at a time", folder, few, ["--devices", "0"], "alone")
            alone_s *= options.runs / few.runs
            print(f"    so {options.runs} take {alone_s:.0f} s", flush=True)
        for mps in ("off", "on"):
            ending = "-mps" if mps == "on" else ""
            words = ["--devices", "0", "--pack", "--mps", mps]
            for state in ("unknown", "known"):
                if state + ending in chosen:
                    taken = measure(f"packed, {state}, MPS {mps}", folder, options, words, mps)
                    if alone_s:
                        print(f"    {alone_s / taken:.1f} x as quick", flush=True)


def measure(title: str, folder: str, options: argparse.Namespace, words: list[str], home: str) -> float:
    commands = Path(folder) / "commands"
    lines = [f"{sys.executable} {TRAIN} --seed {seed} --steps {options.steps}\n" for seed in range(options.runs)]
    commands.write_text("".join(lines))
    duckrow = str(Path(sys.executable).with_name("duckrow"))
    began = time.time()
    done = subprocess.run(
        [duckrow, "run", *words, str(commands)],
        env={**os.environ, "DUCKROW_HOME": f"{folder}/{home}"},
        capture_output=True,
        text=True,
        cwd=folder,
    )
    taken = time.time() - began
    print(
        f"{title}: {taken:.1f} s; {done.stderr.strip().splitlines()[-1] if done.stderr else done.returncode}",
        flush=True,
    )
    return taken


if __name__ == "__main__":
    main()
