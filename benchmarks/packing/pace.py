"""A GPU that runs share, and the cores beside it: how fast each run goes, and who runs out of memory."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from benchmarks.packing.shapes import CONTEXT_MB, Shape

STEP_S = 0.1


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
        self.busy_cores = 0.0

    def step(self, running: Sequence[Running]) -> list[Running]:
        """Let a moment pass; those that ran out of memory in it."""
        training = [run for run in running if not run.imports]
        wanted_cores = sum(1.0 if run.imports else run.shape.cores for run in running)
        wanted_gpu = sum(run.shape.gpu for run in training)
        without_core = max(len(running) - self.cores / (wanted_cores / len(running)), 0.0) if running else 0.0
        switching = 1 + max((run.shape.switching for run in running), default=0.0) * without_core
        by_cores = min(1.0, self.cores / wanted_cores) / switching if wanted_cores else 1.0
        self.busy_cores = min(wanted_cores, float(self.cores))
        beyond = max(len(training) - 1 / (wanted_gpu / len(training)), 0.0) if training else 0.0
        crowding = max((run.shape.crowding for run in training), default=0.0)
        by_gpu = min(1.0, 1 / wanted_gpu) / (1 + crowding * beyond) if wanted_gpu else 1.0
        pace = min(by_cores, by_gpu)
        self.busy = min(wanted_gpu * by_cores, 1.0)  # as the driver counts: crowded or not, something runs
        for run in running:
            if run.imports:
                run.imported_s += STEP_S * by_cores
            else:
                run.trained_s += STEP_S * pace
        return self._allocate(running)

    def _allocate(self, running: Sequence[Running]) -> list[Running]:
        """In no particular order: who asks for what is not there dies, whoever took it."""
        ran_out: list[Running] = []
        used_mb = sum(run.mb for run in running)
        changing = [run for run in running if run.wanted_mb() != run.mb]
        for run in self._random.sample(changing, len(changing)):
            more_mb = run.wanted_mb() - run.mb
            if more_mb > 0 and used_mb + more_mb > self.total_mb:
                used_mb -= run.mb
                run.mb = 0
                ran_out.append(run)
            else:
                used_mb += more_mb
                run.mb += more_mb
        return ran_out
