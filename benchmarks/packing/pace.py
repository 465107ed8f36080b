"""A GPU that runs share, and the cores beside it: how fast each run goes, and who runs out of memory."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from benchmarks.packing.shapes import CONTEXT_MB, Shape

STEP_S = 0.1
_CROWDING = 0.01  # of the pace is lost by each run beyond those that fill the GPU


class Running:
    """A run that has begun."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.imported_s = 0.0
        self.trained_s = 0.0
        self.mb = 0

    @property
    def imports(self) -> bool:
        return self.imported_s < self.shape.import_s

    @property
    def is_done(self) -> bool:
        return self.trained_s >= self.shape.train_s

    def wanted_mb(self) -> int:
        return 0 if self.imports else max(self.shape.mb_at(self.trained_s / self.shape.train_s), CONTEXT_MB)


class SharedGpu:
    def __init__(self, total_mb: int, cores: int, random: Random) -> None:
        self.total_mb, self.cores = total_mb, cores
        self._random = random
        self.busy = 0.0

    def step(self, running: Sequence[Running]) -> list[Running]:
        """Let a moment pass; those that ran out of memory in it."""
        training = [run for run in running if not run.imports]
        wanted_cores = sum(1.0 if run.imports else run.shape.cores for run in running)
        wanted_gpu = sum(run.shape.gpu for run in training)
        by_cores = min(1.0, self.cores / wanted_cores) if wanted_cores else 1.0
        beyond = max(len(training) - 1 / (wanted_gpu / len(training)), 0.0) if training else 0.0
        by_gpu = min(1.0, 1 / wanted_gpu) * (1 - _CROWDING) ** beyond if wanted_gpu else 1.0
        pace = min(by_cores, by_gpu)
        self.busy = min(wanted_gpu * pace, 1.0)
        for run in running:
            if run.imports:
                run.imported_s += STEP_S * by_cores
            else:
                run.trained_s += STEP_S * pace
        return self._allocate(running)

    def _allocate(self, running: Sequence[Running]) -> list[Running]:
        """In no particular order: who asks for what is not there dies, whoever took it."""
        ran_out: list[Running] = []
        for run in self._random.sample(list(running), len(running)):
            others_mb = sum(other.mb for other in running if other is not run)
            if run.wanted_mb() + others_mb > self.total_mb and run.wanted_mb() > run.mb:
                run.mb = 0
                ran_out.append(run)
            else:
                run.mb = run.wanted_mb()
        return ran_out
