"""What does a warm start save? 50 short runs that import numpy, and torch where it is installed."""

from __future__ import annotations

import importlib.util
import sys
from functools import partial
from pathlib import Path

from benchmarks.measure import DUCKROW, interleaved, own_duckrow, seconds, table

RUNS = 50


def main() -> None:
    modules = [name for name in ("numpy", "torch") if importlib.util.find_spec(name)]
    if not modules:
        print("\nA warm start is measured with numpy or torch, and neither is installed here.")
    for module in modules:
        with own_duckrow() as folder:
            compare(module, folder)


def compare(module: str, folder: Path) -> None:
    script, commands = folder / "script.py", folder / "commands"
    script.write_text(f"import {module}\n")
    commands.write_text(f"{sys.executable} {script}\n" * RUNS)
    cold = [DUCKROW, "run", "--slots", "2", str(commands)]
    warm = [*cold, "--preload", module]
    taken = interleaved({"cold": partial(seconds, cold), f"--preload {module}": partial(seconds, warm)}, rounds=3)
    table(f"{RUNS} runs that import {module}, on 2 slots, all together", taken, "s", 1, "cold")


if __name__ == "__main__":
    main()
