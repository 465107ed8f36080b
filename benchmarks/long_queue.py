"""Does it stay quick with 100,000 jobs waiting? Submitting, listing, dispatching, and the memory of the daemon."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import DUCKROW, duckrow, interleaved, own_duckrow, seconds, table
from duckrow.store.jobs.columns import AS_ASKED, OF_ITS_OWN

WAITING = int(os.environ.get("BENCH_QUEUE", "100000"))
TIMED = 2000
FLOOR = "python3 -c pass"
BARE = "bare executemany"  # of as many columns as a job has
SAME_COLUMNS, COMMANDS_ONLY = (*AS_ASKED, *OF_ITS_OWN), ("command",)


def main() -> None:
    with own_duckrow() as folder:
        duckrow("up", "--slots", "2")
        empty_ms = dispatch_ms(*submit(folder, TIMED))
        duckrow("pause")
        commands_s, bare_s = bare_insert_s(folder, COMMANDS_ONLY), bare_insert_s(folder, SAME_COLUMNS)
        began = time.perf_counter()
        first, _ = submit(folder, WAITING)
        submit_s = time.perf_counter() - began
        quick = interleaved(
            {
                FLOOR: lambda: seconds([sys.executable, "-c", "pass"]),
                "ls": lambda: seconds([DUCKROW, "ls", "--limit", "30"]),
                "submit of one job": lambda: seconds([DUCKROW, "submit", "true"]),
            }
        )
        duckrow("resume")
        full_ms = dispatch_ms(first, first + TIMED - 1)
        duckrow("pause")
        added = {BARE: bare_s, "executemany of commands only": commands_s, "submit from a file": submit_s}
        table(f"{WAITING:,} jobs added", added, "ms", 1000, against=BARE)
        table(f"With {WAITING:,} jobs waiting", quick, "ms", 1000, against=FLOOR)
        print(f"  dispatch of a job, empty queue     {empty_ms:9.2f} ms")
        print(f"  dispatch of a job, full queue      {full_ms:9.2f} ms  {full_ms / empty_ms:5.2f} x empty")
        print(f"  memory of the daemon               {daemon_mb():9.1f} MB")


def bare_insert_s(folder: Path, columns: Sequence[str]) -> float:
    """How long as many rows with these columns take, as durable as ours, without an index."""
    database = sqlite3.connect(folder / f"bare-{len(columns)}.db")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute(f"CREATE TABLE jobs (number INTEGER PRIMARY KEY, {', '.join(columns)})")
    row = ("true", *range(1, len(columns)))
    began = time.perf_counter()
    with database:
        statement = f"INSERT INTO jobs ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
        database.executemany(statement, (row for _ in range(WAITING)))
    taken_s = time.perf_counter() - began
    database.close()
    return taken_s


def submit(folder: Path, count: int) -> tuple[int, int]:
    """Submit this many jobs from a file; the first and the last id."""
    file = folder / "commands"
    file.write_text("true\n" * count)
    first, last = duckrow("submit", "--file", str(file)).strip().split("-")
    return int(first), int(last)


def dispatch_ms(first: int, last: int) -> float:
    """What a job costs the daemon, from the first start to the last end of these, by its own record."""
    while json.loads(duckrow("ls", str(last), "--json"))[0]["state"] != "done":
        time.sleep(0.2)
    with sqlite3.connect(Path(os.environ["DUCKROW_HOME"]) / "duckrow.db") as database:
        query = "SELECT max(ended_at) - min(started_at) FROM attempts WHERE job_id BETWEEN ? AND ?"
        (taken_s,) = database.execute(query, (first, last)).fetchone()
    return float(taken_s) / (last - first + 1) * 1000


def daemon_mb() -> float:
    with sqlite3.connect(Path(os.environ["DUCKROW_HOME"]) / "duckrow.db") as database:
        (pid,) = database.execute("SELECT pid FROM hosts WHERE id = 1").fetchone()
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


if __name__ == "__main__":
    main()
