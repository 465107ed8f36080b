"""Workloads that nobody has seen before: how long their runs take, how much memory and when, drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

FRAMEWORK_S = 4.0  # about what importing PyTorch and opening CUDA takes on a core
CONTEXT_MB = 500


class Shape(NamedTuple):
    """What one run does when it has the GPU to itself."""

    script: str
    size: int  # the parameter that decides its memory; runs of a script with the same size take the same
    import_s: float  # on one core, before it takes any memory
    train_s: float  # afterwards
    stairs_mb: tuple[int, ...]  # what it takes, at even distances of its training
    gpu: float  # the share of the GPU that it keeps busy
    cores: float  # that it keeps busy
    claims_mb: int | None = None  # what its user says that it takes
    crowding: float = 0.01  # how much longer all take for each run beyond those that fill the GPU, as a share
    switching: float = 0.0  # the same for each run beyond those that keep all cores busy
    reports_steps: int = 0  # how many it reports over its training; 0: none

    @property
    def peak_mb(self) -> int:
        return max(self.stairs_mb)

    @property
    def alone_s(self) -> float:
        return self.import_s + self.train_s

    def mb_at(self, trained: float) -> int:
        """`trained`: the share of its training that is done."""
        return self.stairs_mb[min(int(trained * len(self.stairs_mb)), len(self.stairs_mb) - 1)]


Workload = Callable[[Random, int], list[Shape]]
"""Given the memory of the GPU in MB."""


def small(random: Random, gpu_mb: int) -> list[Shape]:
    """Many small trainings, each far too small for the GPU."""
    train_s, mb = random.uniform(6, 25), random.randint(600, 2500)
    gpu, cores = random.uniform(0.04, 0.15), random.uniform(0.7, 1.0)
    return [
        Shape("small", 1, _import_s(random), train_s * random.uniform(0.95, 1.05), (CONTEXT_MB, mb), gpu, cores)
        for _ in range(random.randint(12, 24))
    ]


def growing(random: Random, gpu_mb: int) -> list[Shape]:
    """Trainings of many sizes that take their memory in stairs."""
    largest = random.uniform(0.2, 0.35) * gpu_mb
    stairs, train_s = random.randint(3, 7), random.uniform(12, 30)
    gpu, cores = random.uniform(0.04, 0.12), random.uniform(0.4, 0.9)
    shapes = []
    for _ in range(random.randint(9, 15)):
        size = random.randint(15, 100)
        heights = tuple(int(largest * size / 100 * (number + 1) / stairs) + CONTEXT_MB for number in range(stairs))
        shapes.append(Shape("growing", size, _import_s(random), train_s, heights, gpu, cores))
    return shapes


def mixed(random: Random, gpu_mb: int) -> list[Shape]:
    """Runs of two frameworks: two scripts, neither of which is known."""
    shapes = []
    for script in ("jax", "torch"):
        train_s, mb = random.uniform(8, 25), int(random.uniform(0.01, 0.06) * gpu_mb)
        gpu, cores = random.uniform(0.05, 0.25), random.uniform(0.7, 1.5)
        shapes += [
            Shape(script, 1, _import_s(random), train_s, (CONTEXT_MB, mb // 2, mb), gpu, cores)
            for _ in range(random.randint(4, 7))
        ]
    return shapes


def claiming(random: Random, gpu_mb: int) -> list[Shape]:
    """Runs that take far more than their user has said."""
    mb, train_s = int(random.uniform(0.35, 0.45) * gpu_mb), random.uniform(5, 15)
    gpu = random.uniform(0.1, 0.4)
    return [
        Shape("claiming", 1, _import_s(random), train_s, (CONTEXT_MB, mb // 2, mb, mb), gpu, 1.0, mb // 6)
        for _ in range(random.randint(5, 8))
    ]


def saturating(random: Random, gpu_mb: int) -> list[Shape]:
    """Runs each of which fills the GPU by itself."""
    train_s, gpu = random.uniform(6, 20), random.uniform(0.85, 1.0)
    mb = int(random.uniform(0.02, 0.1) * gpu_mb)
    return [
        Shape("saturating", 1, _import_s(random), train_s, (CONTEXT_MB, mb, mb), gpu, random.uniform(0.5, 1.0))
        for _ in range(random.randint(5, 8))
    ]


def crowded(random: Random, gpu_mb: int) -> list[Shape]:
    """A long queue of runs that slow each other down once a few of them fill the GPU."""
    train_s, gpu = random.uniform(4, 12), random.uniform(0.15, 0.4)
    mb, crowding = int(random.uniform(0.01, 0.03) * gpu_mb), random.uniform(0.02, 0.06)
    return [
        Shape("crowded", 1, _import_s(random), train_s, (CONTEXT_MB, mb), gpu, 0.7, crowding=crowding)
        for _ in range(random.randint(60, 120))
    ]


def cpu_bound(random: Random, gpu_mb: int) -> list[Shape]:
    """A long queue of runs each of which keeps several cores busy, and little of the GPU."""
    train_s, cores = random.uniform(4, 12), random.uniform(1.5, 6)
    mb, switching = int(random.uniform(0.01, 0.02) * gpu_mb), random.uniform(0.01, 0.04)
    gpu = random.uniform(0.02, 0.05)
    return [
        Shape("cpu_bound", 1, _import_s(random), train_s, (CONTEXT_MB, mb), gpu, cores, switching=switching)
        for _ in range(random.randint(50, 100))
    ]


def levelling(random: Random, gpu_mb: int) -> list[Shape]:
    """Long runs of which a few fill the GPU; they report their steps, and do not all have the same number of them."""
    fills, train_s = random.randint(2, 12), random.uniform(20, 60)
    mb, crowding = int(random.uniform(0.01, 0.03) * gpu_mb), random.uniform(0.01, 0.05)
    cores, steps = random.uniform(0.3, 1.0), random.randint(100, 1000)
    shapes = []
    for _ in range(random.randint(40, 80)):
        share = random.choice((0.5, 1.0, 2.0))  # epochs
        shape = Shape("levelling", 1, _import_s(random), share * train_s, (CONTEXT_MB, mb), 1 / fills, cores)
        shapes.append(shape._replace(crowding=crowding, reports_steps=int(share * steps)))
    return shapes


def _import_s(random: Random) -> float:
    return FRAMEWORK_S * random.uniform(0.9, 1.1)


WORKLOADS: dict[str, Workload] = {
    "small": small,
    "growing": growing,
    "mixed": mixed,
    "claiming": claiming,
    "saturating": saturating,
    "crowded": crowded,
    "cpu_bound": cpu_bound,
    "levelling": levelling,
}


def memory_bound_s(shapes: Sequence[Shape], gpu_mb: int) -> float:
    """No way of packing ends sooner: memory times time, work of the GPU, and the longest run."""
    area = sum(shape.peak_mb * shape.alone_s for shape in shapes) / gpu_mb
    work = sum(shape.gpu * shape.train_s for shape in shapes)
    return max(area, work, max(shape.alone_s for shape in shapes))
