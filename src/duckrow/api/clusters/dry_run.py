"""Shows what would be submitted to a cluster, and submits nothing."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import NamedTuple

from duckrow.api.clusters.submit import batch_folder
from duckrow.clusters.slurm import commands
from duckrow.clusters.slurm.script import array_of, script_of
from duckrow.core.jobs.job import JobSpec
from duckrow.core.slurm.groups import group_runs, told_apart
from duckrow.core.slurm.request import SlurmRequest


class DryGroup(NamedTuple):
    """Runs that ask for the same thing."""

    asks: str  # what the others do not ask for, in words; empty: there are no others
    runs: int
    jobs: int  # SLURM jobs
    arrays: int  # SLURM limits how large one may be
    script: str


def dry_groups(request: SlurmRequest, specs: Sequence[JobSpec], name: str = "") -> list[DryGroup]:
    groups = group_runs(request, specs)
    asks, size = told_apart(groups.requests), _array_size()
    folder = batch_folder(request, name or "BATCH")
    found: list[DryGroup] = []
    for group, each in enumerate(groups.requests):
        runs = groups.of_runs.count(group)
        jobs = each.jobs_for(runs)
        array = array_of(range(min(jobs, size)), each.max_jobs)
        script = script_of(folder, each, sys.executable, array, group)
        found.append(DryGroup(asks[group], runs, jobs, math.ceil(jobs / size), script))
    return found


def _array_size() -> int:
    try:
        return commands.limits().array_size
    except commands.NoAnswer:
        return commands.SlurmLimits().array_size
