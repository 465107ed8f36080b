"""Measuring: interleaved rounds, medians, ratios, and a duckrow of its own."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.ratios import note

ROUNDS = 5
# What a ratio is recorded against. Rivals are measured and not recorded: only we can make our own slower.
FLOORS = ("python3 -c pass", "bare executemany", "xargs -P2", "basic, one after the other", "nobody looks")
RIVALS = (
    *("python3 -c 'import click'", "simple_gpu_scheduler", "GNU parallel -j2", "task-spooler", "posix_spawn and pidfd"),
    *("posix_spawn, pidfd and SQLite", "the same, a session for each", "executemany of commands only"),
)
DUCKROW = str(Path(sys.executable).with_name("duckrow"))


@contextmanager
def own_duckrow(place: str = "/var/tmp") -> Iterator[Path]:
    """A state folder for the time of a measurement, on disk unless said otherwise; yields a folder to work in."""
    folder = Path(tempfile.mkdtemp(prefix="duckrow-bench-", dir=place))
    before = dict(os.environ)
    os.environ["DUCKROW_HOME"] = str(folder / "state")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        duckrow("ls")
        yield folder
    finally:
        duckrow("down", "--kill")
        os.environ.clear()
        os.environ.update(before)
        shutil.rmtree(folder, ignore_errors=True)


def duckrow(*words: str, stdin: str = "") -> str:
    done = subprocess.run([DUCKROW, *words], input=stdin, capture_output=True, text=True)
    return done.stdout


def seconds(command: list[str], stdin: Path | None = None) -> float:
    """How long a command takes."""
    with open(stdin or os.devnull) as file:
        began = time.perf_counter()
        subprocess.run(command, stdin=file, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return time.perf_counter() - began


def interleaved(contestants: Mapping[str, Callable[[], float]], rounds: int = ROUNDS) -> dict[str, float]:
    """The median of each, measured in turn, so that a noisy minute hits all alike."""
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, measure in contestants.items():
            taken[name].append(measure())
    return {name: statistics.median(values) for name, values in taken.items()}


def table(title: str, rows: Mapping[str, float], unit: str, scale: float, against: str | None = None) -> None:
    print(f"\n{title}")
    for name, value in rows.items():
        if against in FLOORS and name not in (against, *RIVALS):
            note(f"{title.split(', ms')[0].split(', all')[0]}: {name} / {against}", value / rows[against])
        ratio = f"  {value / rows[against]:5.2f} x {against}" if against and name != against else ""
        print(f"  {name:<34} {value * scale:9.2f} {unit}{ratio}", flush=True)


def on_path(program: str) -> bool:
    return shutil.which(program) is not None
