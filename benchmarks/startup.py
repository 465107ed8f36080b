"""How long until a command answers? Against the time that Python itself takes to start."""

from __future__ import annotations

import sys

from benchmarks.measure import DUCKROW, interleaved, own_duckrow, seconds, table


def main() -> None:
    with own_duckrow():
        rows = interleaved(
            {
                "python3 -c pass": lambda: seconds([sys.executable, "-c", "pass"]),
                "import duckrow": lambda: seconds([sys.executable, "-c", "import duckrow"]),
                "duckrow --help": lambda: seconds([DUCKROW, "--help"]),
                "duckrow ls": lambda: seconds([DUCKROW, "ls"]),
            },
            rounds=15,
        )
        table("Start, ms (median of 15)", rows, "ms", 1000, against="python3 -c pass")


if __name__ == "__main__":
    main()
