"""A batch of runs in a folder, without any SLURM."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from duckrow.clusters.batch import Batch, create_batch
from duckrow.core.jobs.job import JobSpec
from duckrow.core.slurm.request import SlurmRequest

MakeBatch = Callable[..., Batch]


@pytest.fixture
def make_batch(tmp_path: Path) -> MakeBatch:
    def make(runs: int = 4, request: SlurmRequest | None = None, **spec: object) -> Batch:
        specs = [JobSpec(f"echo {number}", "/", **spec) for number in range(runs)]  # type: ignore[arg-type]
        folder = str(tmp_path / "batches" / "one")
        return create_batch(folder, specs, range(11, 11 + runs), request or SlurmRequest(), {"A": "b"}, "python3")

    return make
