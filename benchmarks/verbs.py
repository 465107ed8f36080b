"""Does the cost of a verb grow as its work does? Each on more and more jobs that wait: what one of them costs."""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.measure import DUCKROW, duckrow, own_duckrow, seconds

COUNTS = tuple(int(count) for count in os.environ.get("BENCH_JOBS", "2500,5000,10000,20000").split(","))
VERBS = {
    "hold": ("hold",),
    "release": ("release",),
    "priority": ("priority", "40"),
    "move": ("move", "--first"),
    "rm": ("rm",),
}


def main() -> None:
    print("\nA verb on N jobs that wait: seconds, and milliseconds for each job")
    print(f"  {'':<14}" + "".join(f"{count:>22,}" for count in COUNTS))
    taken = [verbs_on(count) for count in COUNTS]
    for verb in VERBS:
        cells = [
            f"{of[verb]:9.2f} s {of[verb] / count * 1000:6.3f} ms" for of, count in zip(taken, COUNTS, strict=True)
        ]
        print(f"  {verb:<14}" + "".join(f"{cell:>22}" for cell in cells), flush=True)


def verbs_on(count: int) -> dict[str, float]:
    with own_duckrow() as folder:
        duckrow("up", "--slots", "1")
        duckrow("pause")
        ids = submitted(folder, count)
        return {verb: seconds([DUCKROW, *words, ids]) for verb, words in VERBS.items()}


def submitted(folder: Path, count: int) -> str:
    file = folder / "commands"
    file.write_text("true\n" * count)
    return duckrow("submit", "--file", str(file)).strip()


if __name__ == "__main__":
    main()
