"""`make bench`: all questions, or those that are named. `--check` compares the ratios with the recorded ones.

`--record` writes the ratios of this run into recorded.json: on a quiet machine, when a change of speed is meant.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
from datetime import date

from benchmarks import ratios

QUESTIONS = (
    *("startup", "dispatch", "gap", "long_queue", "verbs", "answers", "tasks", "warm", "idle", "placement", "web"),
    *("slurm", "hydra", "cgroups"),
)
CHECKED = ("startup", "dispatch", "gap", "long_queue", "web", "hydra")  # those with a recorded ratio


def main() -> int:
    options = {word for word in sys.argv[1:] if word.startswith("--")}
    if unknown := options - {"--check", "--record"}:
        print(f"There is no option {', '.join(sorted(unknown))}. There are --check and --record.", file=sys.stderr)
        return 2
    names = [word for word in sys.argv[1:] if word not in options]
    for name in names or (CHECKED if options else QUESTIONS):
        importlib.import_module(f"benchmarks.{name}").main()
    if "--record" in options:
        ratios.record(ratios.noted, date.today().isoformat(), _machine())
        print(f"\nRecorded in {ratios.RECORD}.")
    if "--check" not in options:
        return 0
    recorded = ratios.read()
    compared = ratios.compare(recorded, ratios.noted)
    new = {question: ratio for question, ratio in ratios.noted.items() if question not in recorded}
    print("", *ratios.report(compared, new), sep="\n")
    return int(any(each.is_worse for each in compared))


def _machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


if __name__ == "__main__":
    sys.exit(main())
