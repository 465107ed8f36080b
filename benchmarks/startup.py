"""How long until a command answers? Against the time that Python itself takes to start."""

from __future__ import annotations

import sys

from benchmarks.measure import DUCKROW, duckrow, interleaved, own_duckrow, seconds, table

FLOOR = "python3 -c pass"


def main() -> None:
    with own_duckrow():
        duckrow("up", "--slots", "1")
        duckrow("pause")
        rows = interleaved(
            {
                FLOOR: lambda: seconds([sys.executable, "-c", "pass"]),
                "python3 -c 'import click'": lambda: seconds([sys.executable, "-c", "import click"]),
                "import duckrow": lambda: seconds([sys.executable, "-c", "import duckrow"]),
                "duckrow --help": lambda: seconds([DUCKROW, "--help"]),
                "duckrow ls": lambda: seconds([DUCKROW, "ls"]),
                "duckrow submit true": lambda: seconds([DUCKROW, "submit", "true"]),
            },
            rounds=15,
        )
        table("Start, ms (median of 15)", rows, "ms", 1000, against=FLOOR)


if __name__ == "__main__":
    main()
