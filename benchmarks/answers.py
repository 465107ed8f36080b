"""How long does a question take with 100,000 jobs in the store? `ls`, `show`, `why`, `logs`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import DUCKROW, duckrow, interleaved, own_duckrow, seconds, table

STORED = int(os.environ.get("BENCH_QUEUE", "100000"))
DONE = 2000
LOG_BYTES = 1 << 30

QUESTIONS = {
    "ls": ["ls"],
    "ls --name 'x*' --failed": ["ls", "--name", "x*", "--failed"],
    "ls --sort -time": ["ls", "--sort", "-time"],
    "ls --page, in the middle": ["ls", "--page", str(STORED // 60)],
    "show last": ["show", "last"],
    "why last": ["why", "last"],
    "logs --tail 50, of 1 GB": ["logs", "--tail", "50", "1"],
    "logs --errors": ["logs", "--errors"],
}


def main() -> None:
    with own_duckrow() as folder:
        duckrow("up", "--slots", "2")
        submit(folder, "echo hello", DONE)
        duckrow("wait", "--all")
        grow(Path(duckrow("logs", "--path", "1").strip()))
        duckrow("submit", "--name", "echo", "--", "sleep 3600")  # it is known how long an `echo` takes: the rest has
        duckrow("submit", "--name", "echo", "--", "sleep 3600")  # an ETA, which has to be reckoned
        submit(folder, "echo hello", STORED - DONE - 2)
        rows = interleaved({name: timed(words) for name, words in QUESTIONS.items()}, rounds=9)
        table(f"With {STORED:,} jobs in the store, ms (median of 9)", rows, "ms", 1000)


def submit(folder: Path, command: str, count: int) -> None:
    file = folder / "commands"
    file.write_text(f"{command}\n" * count)
    duckrow("submit", "--file", str(file))


def grow(log: Path) -> None:
    with log.open("r+b") as file:
        file.truncate(LOG_BYTES)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + b"a line like many others\n" * 1000)


def timed(words: list[str]) -> Callable[[], float]:
    return lambda: seconds([DUCKROW, *words])


if __name__ == "__main__":
    main()
