"""`python -m benchmarks.packing`: workloads drawn from a seed, packed by duckrow and by hand.

Without `--gpu`, simulated: duckrow's loop on a GPU that is not there.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from random import Random, SystemRandom

from benchmarks.packing.commands import Command, Trainings, default_python, pretending
from benchmarks.packing.on_gpu import MEASURED, Bench
from benchmarks.packing.shapes import WORKLOADS, Shape, memory_bound_s
from benchmarks.packing.simulated import best_by_hand, play_by_duckrow, play_by_hand
from duckrow.kernel.shared_folder import VARIABLE as GPU_LOCKS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.packing")
    parser.add_argument("--seed", type=int, help="draws the shapes; by default another one each time")
    parser.add_argument("--draws", type=int, default=5, help="how many of each workload")
    parser.add_argument("--only", help=f"workloads, with commas: {','.join(WORKLOADS)}")
    parser.add_argument("--gpu-mb", type=int, default=143_000)
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--gpu", metavar="NUMBER", help="run them on this GPU instead")
    parser.add_argument("--turns", type=int, default=3, help="on a GPU: rounds, of which the medians are shown")
    parser.add_argument("--python", default=default_python(), help="on a GPU: a Python that has PyTorch")
    parser.add_argument("--quick", type=float, default=1.0, help="on a GPU: this share of the time of each run")
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
    print(f"seed {seed}: on GPU {options.gpu}, medians of {options.turns} turns")
    goals = []
    with tempfile.TemporaryDirectory(prefix="duckrow-packing-") as name:
        folder = Path(name).resolve()
        command, env = _on_fake_gpu(folder, options) if options.pretend else (_on_gpu(folder, options), {})
        bench = Bench(folder, options.gpu, command, env)
        for workload in (options.only or ",".join(MEASURED)).split(","):
            shapes = WORKLOADS[workload](Random(f"{seed} {workload}"), options.gpu_mb)
            shapes = [_shortened(shape, options.quick) for shape in shapes]
            print(
                f"  {workload}: {len(shapes)} runs of {min(shape.peak_mb for shape in shapes)} to "
                f"{max(shape.peak_mb for shape in shapes)} MB",
                flush=True,
            )
            goals += MEASURED[workload](bench, shapes, options.turns, options.gpu_mb, not options.pretend)
    print(*goals, sep="\n")
    return all(goal.is_met for goal in goals)


def _on_gpu(folder: Path, options: argparse.Namespace) -> Command:
    return Trainings.measured(options.python, folder).command


def _on_fake_gpu(folder: Path, options: argparse.Namespace) -> tuple[Command, dict[str, str]]:
    from tests.fake_nvml import FakeGpus

    gpus = FakeGpus(folder / "gpus")
    gpus.add("NVIDIA H200", memory_mb=options.gpu_mb)
    return pretending(gpus.job), {**gpus.env(), GPU_LOCKS: str(folder / "locks")}


def _shortened(shape: Shape, share: float) -> Shape:
    return shape._replace(import_s=shape.import_s * share, train_s=shape.train_s * share)


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
    bound_s = memory_bound_s(shapes, options.gpu_mb)
    alone_s = play_by_hand(shapes, 1, options.gpu_mb, options.cores) or 0.0
    hand_s, _ = best_by_hand(shapes, options.gpu_mb, options.cores)
    first, known = play_by_duckrow(shapes, options.gpu_mb, options.cores, str(random.random()), rounds=2)
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
