"""A real SLURM keeps the contract of clusters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from duckrow.clusters.slurm.cluster import SlurmCluster
from tests.clusters.contract import ClusterContract, Site
from tests.slurm.conftest import Cluster, no_jobs_left


@pytest.fixture
def site(tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("SLURM_CONF", cluster.conf)
    if not cluster.is_whole():
        cluster.up()
    yield Site(SlurmCluster(), tmp_path, "slurm")
    no_jobs_left(cluster)


class TestSlurm(ClusterContract): ...
