"""The pretend cluster keeps the contract; tests/slurm/test_contract.py asks the same of a real SLURM."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clusters.contract import ClusterContract, Site
from tests.clusters.pretend_cluster import PRETEND, PretendCluster


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    cluster = PretendCluster(str(tmp_path / "cluster"))
    yield Site(cluster, tmp_path, PRETEND)
    cluster.close()


class TestPretendCluster(ClusterContract): ...
