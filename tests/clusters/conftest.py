"""A batch of runs in a folder, without any SLURM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from duckrow.clusters.batch import Batch, create_batch
from duckrow.clusters.port import States
from duckrow.clusters.slurm.cluster import SlurmCluster
from duckrow.clusters.slurm.states_question import job_told
from duckrow.clusters.tending import Tending
from duckrow.core.clusters.request import ClusterRequest
from duckrow.core.jobs.job import JobSpec

MakeBatch = Callable[..., Batch]


def on_slurm(batch: Batch) -> Tending:
    return Tending(batch, SlurmCluster())


def told(states: Mapping[str, str]) -> States:
    """Jobs in the states that SLURM has these words for."""
    return {job: job_told(state) for job, state in states.items()}


@pytest.fixture
def make_batch(tmp_path: Path) -> MakeBatch:
    def make(runs: int = 4, request: ClusterRequest | None = None, **spec: object) -> Batch:
        specs = [JobSpec(f"echo {number}", "/", **spec) for number in range(runs)]  # type: ignore[arg-type]
        folder = str(tmp_path / "batches" / "one")
        return create_batch(folder, specs, range(11, 11 + runs), request or ClusterRequest(), {"A": "b"}, "python3")

    return make
