"""The workloads on a GPU: by duckrow, and by hand with xargs and MPS in the same run, in turns."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.packing.commands import Command, lines_of
from benchmarks.packing.shapes import Shape, memory_bound_s

MPS = "nvidia-cuda-mps-control"


class Goal(NamedTuple):
    """A figure that must not be more than this."""

    title: str
    value: float
    most: float

    def __str__(self) -> str:
        return f"  {self.title:<52} {self.value:6.2f}   at most {self.most:.2f}{'' if self.is_met else '   MISSED'}"

    @property
    def is_met(self) -> bool:
        return self.value <= self.most


class Round(NamedTuple):
    seconds: float
    retries: int = 0
    most_attempts: int = 1


class Rounds:
    """All that was measured of a workload, by what was done."""

    def __init__(self) -> None:
        self._found: dict[str, list[Round]] = {}

    def note(self, what: str, found: Round) -> None:
        self._found.setdefault(what, []).append(found)
        tried = f", {found.retries} retries" if found.retries else ""
        print(f"    {what:<14} {found.seconds:6.1f} s{tried}", flush=True)

    def median_s(self, what: str) -> float:
        return statistics.median(each.seconds for each in self._found[what])

    def all_of(self, what: str) -> list[Round]:
        return self._found[what]

    def quickest_s(self, beginning: str) -> float:
        """The best of those whose names begin so, by their medians."""
        return min(self.median_s(what) for what in self._found if what.startswith(beginning))


class Bench:
    def __init__(self, folder: Path, gpu: str, command: Command, env: dict[str, str]) -> None:
        self._folder, self._gpu, self._command = folder, gpu, command
        self._env = {**os.environ, **env}

    def by_hand(self, shapes: Sequence[Shape], at_a_time: int) -> Round:
        """What an expert types: xargs, MPS, one thread each."""
        lines = lines_of(self._command, shapes)
        with _mps(self._folder) as variables:
            env = {**self._env, **variables, "CUDA_VISIBLE_DEVICES": self._gpu, "OMP_NUM_THREADS": "1"}
            env |= {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
            began = time.monotonic()
            subprocess.run(
                ["xargs", "-P", str(at_a_time), "-d", "\n", "-n", "1", "sh", "-c", 'eval "$0"'],
                input=lines,
                text=True,
                env=env,
                cwd=self._folder,
                stdout=subprocess.DEVNULL,
                check=True,
            )
            return Round(time.monotonic() - began)

    def by_duckrow(self, shapes: Sequence[Shape], home: str, *words: str) -> Round:
        """`home`: what it has learned; another one knows nothing."""
        commands = self._folder / "commands.txt"
        commands.write_text(lines_of(self._command, shapes))
        claimed = shapes[0].claims_mb
        memory = ["--pack"] if claimed is None else ["--gpu-mem", f"{claimed}M"]
        env = {**self._env, "DUCKROW_HOME": str(self._folder / home)}
        duckrow = [sys.executable, "-m", "duckrow"]
        began = time.monotonic()
        subprocess.run(
            [*duckrow, "run", "--devices", self._gpu, *memory, *words, str(commands)],
            env=env,
            cwd=self._folder,
            capture_output=True,
            text=True,
            check=True,
        )
        lasted_s = time.monotonic() - began
        listed = subprocess.check_output([*duckrow, "ls", "--all", "--json"], env=env, text=True)
        attempts = [job["attempts"] for job in json.loads(listed)[-len(shapes) :]]
        return Round(lasted_s, sum(attempts) - len(attempts), max(attempts))


@contextmanager
def _mps(folder: Path) -> Iterator[dict[str, str]]:
    """A control daemon of our own; none where there is none."""
    if shutil.which(MPS) is None:
        yield {}
        return
    pipes = folder / "mps"
    pipes.mkdir(exist_ok=True)
    variables = {"CUDA_MPS_PIPE_DIRECTORY": str(pipes), "CUDA_MPS_LOG_DIRECTORY": str(pipes)}
    subprocess.run([MPS, "-d"], env={**os.environ, **variables}, check=True)
    try:
        yield variables
    finally:
        subprocess.run([MPS], input="quit\n", text=True, env={**os.environ, **variables}, check=False)


# -- the workloads, each with its goals -----------------------------------------------------------------------------


def small(bench: Bench, shapes: Sequence[Shape], turns: int, gpu_mb: int, preload: bool) -> list[Goal]:
    rounds = Rounds()
    for turn in range(turns):
        rounds.note("by hand", bench.by_hand(shapes, len(shapes)))
        rounds.note("first time", bench.by_duckrow(shapes, f"small-{turn}"))
        rounds.note("known", bench.by_duckrow(shapes, f"small-{turn}"))
        if preload:
            rounds.note("preloaded", bench.by_duckrow(shapes, f"small-{turn}", "--preload", "torch"))
    by_hand_s = rounds.median_s("by hand")
    goals = [
        Goal("small trainings: first time / by hand", rounds.median_s("first time") / by_hand_s, 1.2),
        Goal("small trainings: known / by hand", rounds.median_s("known") / by_hand_s, 1.05),
    ]
    if preload:
        goals += [Goal("small trainings: preloaded / by hand", rounds.median_s("preloaded") / by_hand_s, 0.8)]
    return goals


def growing(bench: Bench, shapes: Sequence[Shape], turns: int, gpu_mb: int, preload: bool) -> list[Goal]:
    rounds = Rounds()
    largest = max(shapes, key=lambda shape: shape.peak_mb)
    rounds.note("one alone", bench.by_hand([largest], 1))
    for turn in range(turns):
        rounds.note("first time", bench.by_duckrow(shapes, f"growing-{turn}"))
        rounds.note("known", bench.by_duckrow(shapes, f"growing-{turn}"))
    alone_s = rounds.median_s("one alone")  # all have as many steps
    bound_s = memory_bound_s([shape._replace(import_s=0.0, train_s=alone_s, gpu=0.0) for shape in shapes], gpu_mb)
    return [
        Goal("growing: first time / memory bound", rounds.median_s("first time") / bound_s, 2.0),
        Goal("growing: known / memory bound", rounds.median_s("known") / bound_s, 1.3),
        Goal("growing: known, retries", max(each.retries for each in rounds.all_of("known")), 0),
    ]


def mixed(bench: Bench, shapes: Sequence[Shape], turns: int, gpu_mb: int, preload: bool) -> list[Goal]:
    rounds = Rounds()
    numbers = sorted({2, len(shapes) // 2, len(shapes)})
    for turn in range(turns):
        for number in numbers if turn == 0 else numbers[1:]:
            rounds.note(f"by hand, -P{number}", bench.by_hand(shapes, number))
        rounds.note("first time", bench.by_duckrow(shapes, f"mixed-{turn}"))
    return [Goal("two frameworks: first / by hand", rounds.median_s("first time") / rounds.quickest_s("by hand"), 1.2)]


def claiming(bench: Bench, shapes: Sequence[Shape], turns: int, gpu_mb: int, preload: bool) -> list[Goal]:
    rounds = Rounds()
    for turn in range(min(turns, 2)):
        rounds.note("first time", bench.by_duckrow(shapes, f"claiming-{turn}"))
    most = max(each.most_attempts for each in rounds.all_of("first time"))
    return [Goal("claims that are too low: attempts of a run", most, 2)]


def saturating(bench: Bench, shapes: Sequence[Shape], turns: int, gpu_mb: int, preload: bool) -> list[Goal]:
    rounds = Rounds()
    for turn in range(turns):
        if turn == 0:
            rounds.note("one by one", bench.by_hand(shapes, 1))
        rounds.note("all by hand", bench.by_hand(shapes, len(shapes)))
        rounds.note("first time", bench.by_duckrow(shapes, f"saturating-{turn}"))
        rounds.note("known", bench.by_duckrow(shapes, f"saturating-{turn}"))
    better_s = min(rounds.median_s("one by one"), rounds.median_s("all by hand"))
    return [
        Goal("saturating: first time / the better way", rounds.median_s("first time") / better_s, 1.1),
        Goal("saturating: known / the better way", rounds.median_s("known") / better_s, 1.03),
    ]


MEASURED = {each.__name__: each for each in (small, growing, mixed, claiming, saturating)}
