"""Shows what would be submitted to a cluster, and submits nothing."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from duckrow.api.clusters.submit import batch_folder
from duckrow.clusters.known import cluster_of
from duckrow.clusters.port import Cluster, ClusterLimits, NoAnswer, PilotArray, PilotJobs
from duckrow.core.clusters.groups import group_runs, told_apart
from duckrow.core.clusters.request import ClusterRequest
from duckrow.core.jobs.job import JobSpec
from duckrow.core.named_tuple import NamedTuple


class DryGroup(NamedTuple):
    """Runs with the same request."""

    asks: str  # how its request differs from the others, in words; empty: there are no others
    runs: int
    jobs: int  # cluster jobs
    arrays: int  # the cluster limits their size
    script: str


def dry_groups(request: ClusterRequest, specs: Sequence[JobSpec], name: str = "") -> list[DryGroup]:
    groups = group_runs(request, specs)
    cluster = cluster_of(request)
    asks, size = told_apart(groups.requests), _array_size(cluster)
    folder = batch_folder(request, name or "BATCH")
    found: list[DryGroup] = []
    for group, each in enumerate(groups.requests):
        runs = groups.of_runs.count(group)
        jobs = each.jobs_for(runs)
        array = PilotArray(range(min(jobs, size)), at_a_time=each.max_jobs)
        script = cluster.preview(PilotJobs(folder, each, sys.executable, group), array)
        found.append(DryGroup(asks[group], runs, jobs, math.ceil(jobs / size), script))
    return found


def _array_size(cluster: Cluster) -> int:
    try:
        return cluster.limits().array_size
    except NoAnswer:
        return ClusterLimits().array_size
