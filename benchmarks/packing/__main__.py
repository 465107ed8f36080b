"""`python -m benchmarks.packing`: workloads drawn from a seed, packed by duckrow and by hand.

Without `--gpu`, simulated: duckrow's loop on a GPU that is not there.
"""

from __future__ import annotations

import argparse
import statistics
from random import Random, SystemRandom

from benchmarks.packing.shapes import WORKLOADS, memory_bound_s
from benchmarks.packing.simulated import best_by_hand, play_by_duckrow, play_by_hand


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.packing")
    parser.add_argument("--seed", type=int, help="draws the shapes; by default another one each time")
    parser.add_argument("--draws", type=int, default=5, help="how many of each workload")
    parser.add_argument("--only", default=",".join(WORKLOADS), help="workloads, with commas")
    parser.add_argument("--gpu-mb", type=int, default=143_000)
    parser.add_argument("--cores", type=int, default=16)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else SystemRandom().randrange(1_000_000)
    print(f"seed {seed}: a GPU of {options.gpu_mb} MB, {options.cores} cores, {options.draws} draws of each, medians")
    print("by hand: the best of xargs -P1 ... -Pn; bound: no way of packing ends sooner; worst in brackets")
    head = ("one by one", "hand/bound", "first/hand", "known/hand", "first/bound", "known/bound", "retries", "attempts")
    print(f"{'':12}" + "".join(f"{title:>16}" for title in head))
    for name in options.only.split(","):
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
