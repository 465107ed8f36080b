"""The batch systems that duckrow supports, by the names that `--on` takes. This is the only list of them."""

from __future__ import annotations

from duckrow.clusters.port import Cluster, ClusterOf
from duckrow.clusters.slurm.cluster import SlurmCluster
from duckrow.core.clusters.request import ClusterRequest
from duckrow.core.errors import UsageError

CLUSTERS: dict[str, ClusterOf] = {"slurm": lambda request: SlurmCluster(request.clusters)}


def cluster_of(request: ClusterRequest) -> Cluster:
    """The cluster that a request is for."""
    if request.on not in CLUSTERS:
        raise UsageError(f"This duckrow knows no cluster '{request.on}'. It knows {', '.join(CLUSTERS)}.")
    return CLUSTERS[request.on](request)
