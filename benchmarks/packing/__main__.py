"""`python -m benchmarks.packing`: workloads drawn from a seed, packed by duckrow and by hand.

Without `--gpu`, simulated: duckrow's loop on a GPU that is not there.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random, SystemRandom

from benchmarks.packing.commands import Command, Trainings, default_python, pretending
from benchmarks.packing.figures import Goal, Rounds
from benchmarks.packing.on_gpu import Bench
from benchmarks.packing.pace import Reality
from benchmarks.packing.rows import ROWS, Row, Workload
from benchmarks.packing.shapes import FRAMEWORK_S, WORKLOADS, Shape, memory_bound_s
from benchmarks.packing.simulated import best_by_hand, play_by_duckrow, play_by_hand
from duckrow.kernel.shared_folder import VARIABLE as GPU_LOCKS

_LATER_TURNS = 0.7  # of the time of the one before: only the first tries several numbers by hand


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.packing")
    parser.add_argument("--seed", type=int, help="draws the shapes; by default another one each time")
    parser.add_argument("--draws", type=int, default=5, help="how many of each workload")
    parser.add_argument("--only", help=f"workloads, with commas: {','.join(WORKLOADS)}")
    parser.add_argument("--gpu-mb", type=int, default=143_000)
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--import-s", type=float, default=7.0, help="simulated: how long a run imports when alone")
    parser.add_argument("--varying", type=float, default=0.05, help="simulated: the share by which times differ")
    parser.add_argument("--crowded-imports", type=float, default=0.04, help="simulated: longer for each that imports")
    parser.add_argument("--dying", type=float, default=1.0, help="simulated: seconds until one that ran out is gone")
    parser.add_argument("--gpu", metavar="NUMBER", help="run them on this GPU instead")
    parser.add_argument("--turns", type=int, default=3, help="on a GPU: rounds, of which the medians are shown")
    parser.add_argument("--python", default=default_python(), help="on a GPU: a Python that has PyTorch")
    parser.add_argument("--quick", type=float, default=1.0, help="this share of the time of each run; of its training")
    parser.add_argument("--minutes", type=float, default=19.0, help="on a GPU: rows get fewer turns to keep to this")
    parser.add_argument("--longest", type=float, default=240.0, help="on a GPU: seconds until one way is given up")
    parser.add_argument("--json", metavar="FILE", help="on a GPU: write the figures there")
    parser.add_argument("--keep", metavar="FOLDER", help="on a GPU: keep what duckrow has stored there, to look at")
    parser.add_argument(
        "--pretend", action="store_true", help="on a fake GPU of the tests: to try the benchmark itself"
    )
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else SystemRandom().randrange(1_000_000)
    if options.gpu is None:
        simulate(seed, options)
    elif not measure(seed, options):
        sys.exit(1)


def measure(seed: int, options: argparse.Namespace) -> bool:
    """Whether all goals are met."""
    print(f"seed {seed}: on GPU {options.gpu}, medians of {options.turns} turns, {options.minutes} minutes at most")
    goals: list[Goal] = []
    names = options.only.split(",") if options.only else list(ROWS)
    ends_mono, is_whole = time.monotonic() + 60 * options.minutes, True
    with _folder(options.keep) as folder:
        command, env = _on_fake_gpu(folder, options) if options.pretend else (_on_gpu(folder, options), {})
        bench = Bench(folder, options.gpu, command, env, options.longest)
        for number, workload in enumerate(names):
            until_mono = time.monotonic() + (ends_mono - time.monotonic()) / (len(names) - number)
            found = _measure_row(workload, seed, options, bench, until_mono)
            is_whole = is_whole and bool(found)
            goals += found
            print(*found, sep="\n", flush=True)
            _keep(seed, options, goals)
    print(f"seed {seed}, --quick {options.quick}:", *goals, sep="\n")
    return is_whole and all(goal.is_met for goal in goals)


@contextmanager
def _folder(kept: str | None) -> Iterator[Path]:
    if kept is not None:
        if os.path.lexists(kept):  # what was learned before would count
            sys.exit(f"{kept} is there already. Name a new folder: --keep FOLDER")
        Path(kept).mkdir()
        yield Path(kept).resolve()
        return
    with tempfile.TemporaryDirectory(prefix="duckrow-packing-", ignore_cleanup_errors=True) as name:
        yield Path(name).resolve()


def _measure_row(name: str, seed: int, options: argparse.Namespace, bench: Bench, until_mono: float) -> list[Goal]:
    """A row that fails says so, and the next one begins; what it has measured before counts."""
    shapes = WORKLOADS[name](Random(f"{seed} {name}"), options.gpu_mb)
    shapes = [_shortened(shape, options.quick) for shape in shapes]
    smallest, largest = min(shape.peak_mb for shape in shapes), max(shape.peak_mb for shape in shapes)
    print(f"  {name}: {len(shapes)} runs of {smallest} to {largest} MB", flush=True)
    its, rounds, row = Workload(bench, shapes, options.gpu_mb, not options.pretend), Rounds(), ROWS[name]
    try:
        _turns(its, rounds, row, options.turns, until_mono)
    except Exception as error:  # whatever went wrong in one row, the others are still worth their time
        print(f"    {name} was given up: {error}", flush=True)
    try:
        return row.goals(its, rounds)
    except (KeyError, ValueError):  # nothing to compare
        return []


def _turns(its: Workload, rounds: Rounds, row: Row, turns: int, until_mono: float) -> None:
    """As many as there is time for, at least one."""
    for turn in range(turns):
        began_mono = time.monotonic()
        row.turn(its, rounds, turn)
        now_mono = time.monotonic()
        if now_mono + _LATER_TURNS * (now_mono - began_mono) > until_mono and turn + 1 < turns:
            print(f"    no time for more than {turn + 1} of {turns} turns", flush=True)
            return


def _keep(seed: int, options: argparse.Namespace, goals: Sequence[Goal]) -> None:
    if options.json is not None:
        told = {"seed": seed, "quick": options.quick, "goals": [goal.as_json() for goal in goals]}
        Path(options.json).write_text(json.dumps(told, indent=1) + "\n")


def _on_gpu(folder: Path, options: argparse.Namespace) -> Command:
    return Trainings.measured(options.python, folder).command


def _on_fake_gpu(folder: Path, options: argparse.Namespace) -> tuple[Command, dict[str, str]]:
    from tests.fake_nvml import FakeGpus

    gpus = FakeGpus(folder / "gpus")
    gpus.add("NVIDIA H200", memory_mb=options.gpu_mb)
    return pretending(gpus.job), {**gpus.env(), GPU_LOCKS: str(folder / "locks")}


def _shortened(shape: Shape, share: float) -> Shape:
    return shape._replace(import_s=shape.import_s * share, train_s=shape.train_s * share)


def _on_machine(shape: Shape, options: argparse.Namespace) -> Shape:
    """Only training is shortened: on a GPU, imports take as long as they take."""
    import_s = shape.import_s * options.import_s / FRAMEWORK_S
    return shape._replace(import_s=import_s, train_s=shape.train_s * options.quick)


def simulate(seed: int, options: argparse.Namespace) -> None:
    print(f"seed {seed}: a GPU of {options.gpu_mb} MB, {options.cores} cores, {options.draws} draws of each, medians")
    print("by hand: the best of xargs -P1 ... -Pn; bound: no way of packing ends sooner; worst in brackets")
    head = ("one by one", "hand/bound", "first/hand", "known/hand", "first/bound", "known/bound", "retries", "attempts")
    print(f"{'':12}" + "".join(f"{title:>16}" for title in head))
    for name in (options.only or ",".join(WORKLOADS)).split(","):
        rows = [row_of(name, Random(f"{seed} {name} {draw}"), options) for draw in range(options.draws)]
        cells = [_cell([row[column] for row in rows]) for column in range(len(head))]
        print(f"{name:12}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


def row_of(name: str, random: Random, options: argparse.Namespace) -> tuple[float, ...]:
    shapes = WORKLOADS[name](random, options.gpu_mb)
    shapes = [_on_machine(shape, options) for shape in shapes]
    reality, seed = Reality(options.varying, options.crowded_imports, options.dying), str(random.random())
    bound_s = memory_bound_s(shapes, options.gpu_mb)
    alone_s = play_by_hand(shapes, 1, options.gpu_mb, options.cores, reality) or 0.0
    hand_s, _ = best_by_hand(shapes, options.gpu_mb, options.cores, reality)
    first, known = play_by_duckrow(shapes, options.gpu_mb, options.cores, seed, 2, reality)
    return (
        alone_s / hand_s,
        hand_s / bound_s,
        first.makespan_s / hand_s,
        known.makespan_s / hand_s,
        first.makespan_s / bound_s,
        known.makespan_s / bound_s,
        first.retries + known.retries / 100,
        first.most_attempts + known.most_attempts / 100,
    )


def _cell(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({max(values):.2f})"


if __name__ == "__main__":
    main()
