"""The workloads on a GPU: what each turn of one does, and its goals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from benchmarks.packing.figures import Goal, Rounds, against
from benchmarks.packing.on_gpu import Bench
from benchmarks.packing.shapes import Shape, memory_bound_s


class Workload(NamedTuple):
    """The runs of a row, and all that they need."""

    bench: Bench
    shapes: Sequence[Shape]
    gpu_mb: int
    preloads: bool


class Row(NamedTuple):
    turn: Callable[[Workload, Rounds, int], None]
    goals: Callable[[Workload, Rounds], list[Goal]]


def _by_hand(its: Workload, rounds: Rounds, turn: int, numbers: set[int]) -> None:
    """The first turn finds the best number at a time, as an expert would; the others repeat that one."""
    for number in sorted(numbers):
        what = f"by hand, -P{number}"
        if turn == 0 or what == rounds.quickest("by hand"):
            rounds.note(what, its.bench.by_hand(its.shapes, number))


def _small(its: Workload, rounds: Rounds, turn: int) -> None:
    rounds.note("by hand", its.bench.by_hand(its.shapes, len(its.shapes)))
    rounds.note("first time", its.bench.by_duckrow(its.shapes, f"small-{turn}"))
    rounds.note("known", its.bench.by_duckrow(its.shapes, f"small-{turn}"))
    if its.preloads:
        rounds.note("preloaded", its.bench.by_duckrow(its.shapes, f"small-{turn}", "--preload", "torch"))
        rounds.note("preloaded before", its.bench.by_daemon(its.shapes, f"small-{turn}", "--preload", "torch"))


def _small_goals(its: Workload, rounds: Rounds) -> list[Goal]:
    most = {"first time": 1.2, "known": 1.05, "preloaded": 0.8, "preloaded before": 0.8}
    return [against(rounds, f"small: {what}", what, "by hand", most[what]) for what in most if what in rounds.found]


def _growing(its: Workload, rounds: Rounds, turn: int) -> None:
    largest = max(its.shapes, key=lambda shape: shape.peak_mb)
    rounds.note("one alone", its.bench.by_hand([largest], 1))  # in each turn: the bound rests on it
    rounds.note("first time", its.bench.by_duckrow(its.shapes, f"growing-{turn}"))
    rounds.note("known", its.bench.by_duckrow(its.shapes, f"growing-{turn}"))


def _growing_goals(its: Workload, rounds: Rounds) -> list[Goal]:
    alone_s = rounds.median_s("one alone")  # all have as many steps
    shapes = [shape._replace(import_s=0.0, train_s=alone_s, gpu=0.0) for shape in its.shapes]
    bound_s = memory_bound_s(shapes, its.gpu_mb)
    most = {"first time": 2.0, "known": 1.3}
    found = {what: (rounds.median_s(what), bound_s, "memory bound", rounds.retries(what)) for what in most}
    goals = [Goal(f"growing: {what}", most[what], *found[what]) for what in most]
    return [*goals, Goal("growing: retries when known", 0, rounds.retries("known"))]


def _mixed(its: Workload, rounds: Rounds, turn: int) -> None:
    _by_hand(its, rounds, turn, {2, len(its.shapes) // 2, min(len(its.shapes), 10)})
    rounds.note("first time", its.bench.by_duckrow(its.shapes, f"mixed-{turn}"))


def _mixed_goals(its: Workload, rounds: Rounds) -> list[Goal]:
    return [against(rounds, "JAX and PyTorch: first time", "first time", rounds.quickest("by hand"), 1.2)]


def _claiming(its: Workload, rounds: Rounds, turn: int) -> None:
    fit = max(its.gpu_mb // its.shapes[0].peak_mb, 1)  # an expert has looked it up
    if turn == 0:
        rounds.note(f"by hand, -P{fit}", its.bench.by_hand(its.shapes, fit))
    rounds.note("first time", its.bench.by_duckrow(its.shapes, f"claiming-{turn}"))


def _claiming_goals(its: Workload, rounds: Rounds) -> list[Goal]:
    worst, by_hand = rounds.most_attempts("first time"), rounds.quickest("by hand")
    print(f"    {rounds.median_s('first time') / rounds.median_s(by_hand):.2f} x {by_hand}", flush=True)
    return [Goal("claims too low: most attempts", 2, worst, retries=rounds.retries("first time"))]


def _saturating(its: Workload, rounds: Rounds, turn: int) -> None:
    _by_hand(its, rounds, turn, {1, 2, len(its.shapes)})
    rounds.note("first time", its.bench.by_duckrow(its.shapes, f"saturating-{turn}"))
    rounds.note("known", its.bench.by_duckrow(its.shapes, f"saturating-{turn}"))


def _saturating_goals(its: Workload, rounds: Rounds) -> list[Goal]:
    better, most = rounds.quickest("by hand"), {"first time": 1.1, "known": 1.03}
    return [against(rounds, f"saturating: {what}", what, better, most[what]) for what in most]


ROWS = {
    "claiming": Row(_claiming, _claiming_goals),
    "mixed": Row(_mixed, _mixed_goals),
    "small": Row(_small, _small_goals),
    "saturating": Row(_saturating, _saturating_goals),
    "growing": Row(_growing, _growing_goals),
}
"""By name. Those that need less time come first: what they leave is for the others."""
