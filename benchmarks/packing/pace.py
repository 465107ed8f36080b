"""A GPU that runs share, and the cores beside it: how fast each run goes, and who runs out of memory."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from benchmarks.packing.shapes import CONTEXT_MB, Shape

STEP_S = 0.1


class Reality(NamedTuple):
    """In what a machine differs from one that does the same each time."""

    varying: float = 0.0  # by which share the time of a run differs, up or down, from what its shape says
    crowded_imports: float = 0.0  # how much longer imports take for each other run that imports, as a share
    dying_s: float = 0.0  # how long a run that ran out of memory keeps what it has: Python says why, and ends


KIND = Reality()
"""Each run takes as long as the same one before."""


class Running:
    """A run that has begun."""

    def __init__(self, shape: Shape, slowness: float = 1.0) -> None:
        """`slowness`: it takes this many times as long as its shape says."""
        self.shape = shape
        self.slowness = slowness
        self.imported_s = 0.0
        self.trained_s = 0.0
        self.mb = 0
        self.dying_for_s: float | None = None  # since it ran out of memory

    @property
    def imports(self) -> bool:
        return self.imported_s < self.shape.import_s

    @property
    def is_done(self) -> bool:
        return self.trained_s >= self.shape.train_s

    def wanted_mb(self) -> int:
        return 0 if self.imports else max(self.shape.mb_at(self.trained_s / self.shape.train_s), CONTEXT_MB)


class SharedGpu:
    def __init__(self, total_mb: int, cores: int, random: Random, reality: Reality = KIND) -> None:
        self.total_mb, self.cores = total_mb, cores
        self._random = random
        self._reality = reality
        self.busy = 0.0
        self.busy_cores = 0.0
        self._kept_mb = 0  # by runs that are about to end

    def begin(self, shape: Shape) -> Running:
        varying = self._reality.varying
        return Running(shape, self._random.uniform(1 - varying, 1 + varying))

    def step(self, running: Sequence[Running]) -> list[Running]:
        """Let a moment pass; those that have ended in it because they ran out of memory."""
        dying = [run for run in running if run.dying_for_s is not None]
        for run in dying:
            run.dying_for_s = (run.dying_for_s or 0.0) + STEP_S
        dead = [run for run in dying if (run.dying_for_s or 0.0) >= self._reality.dying_s]
        running = [run for run in running if run.dying_for_s is None]
        self._kept_mb = sum(run.mb for run in dying if run not in dead)
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
        others_import = max(len(running) - len(training) - 1, 0)
        by_imports = by_cores / (1 + self._reality.crowded_imports * others_import)
        for run in running:
            if run.imports:
                run.imported_s += STEP_S * by_imports / run.slowness
            else:
                run.trained_s += STEP_S * pace / run.slowness
        return [*dead, *self._allocate(running)]

    def _allocate(self, running: Sequence[Running]) -> list[Running]:
        """In no particular order: who asks for what is not there dies, whoever took it."""
        ran_out: list[Running] = []
        used_mb = sum(run.mb for run in running) + self._kept_mb
        changing = [run for run in running if run.wanted_mb() != run.mb]
        for run in self._random.sample(changing, len(changing)):
            more_mb = run.wanted_mb() - run.mb
            if more_mb > 0 and used_mb + more_mb > self.total_mb:
                if self._reality.dying_s:
                    run.dying_for_s = 0.0
                else:
                    used_mb -= run.mb
                    ran_out.append(run)
            else:
                used_mb += more_mb
                run.mb += more_mb
        return ran_out
