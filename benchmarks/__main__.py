"""`make bench`: all questions, or those that are named."""

from __future__ import annotations

import importlib
import sys

QUESTIONS = (
    *("startup", "dispatch", "gap", "long_queue", "verbs", "answers", "tasks", "warm", "idle", "placement", "web"),
    *("slurm", "hydra", "cgroups"),
)


def main() -> None:
    for name in sys.argv[1:] or QUESTIONS:
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
