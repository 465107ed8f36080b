"""SLURM as a cluster: implements the port with SLURM's own commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from duckrow.clusters.port import ClusterLimits, PilotArray, PilotJobs
from duckrow.clusters.slurm import commands
from duckrow.clusters.slurm.environment import wrapped
from duckrow.clusters.slurm.own_job import SlurmOwnJob
from duckrow.clusters.slurm.script import array_of, script_of
from duckrow.clusters.slurm.states_question import StatesQuestion
from duckrow.core.clusters.request import ClusterRequest


@dataclass(frozen=True)
class SlurmCluster:
    clusters: str = ""  # another cluster of this site than this node's

    def limits(self) -> ClusterLimits:
        return commands.limits()

    def submit(self, pilots: PilotJobs, array: PilotArray) -> int:
        return commands.sbatch(
            _written(pilots),
            array_of(array.indices, array.at_a_time),
            str(array.first),
            environment=pilots.environment,
            options=_dependency(pilots.request, array.after),
        )

    def check(self, pilots: PilotJobs) -> None:
        commands.test_only(_written(pilots), environment=pilots.environment)

    def preview(self, pilots: PilotJobs, array: PilotArray) -> str:
        indices = array_of(array.indices, array.at_a_time)
        return script_of(pilots.folder, pilots.request, pilots.python, indices, pilots.group)

    def in_words(self, request: ClusterRequest) -> str:
        return " ".join(["sbatch", *request.options()])

    def ask(self) -> StatesQuestion:
        return StatesQuestion(self.clusters)

    def cancel(self, jobs: Sequence[str], only_waiting: bool = False) -> None:
        commands.scancel(jobs, *(["--state=PENDING"] if only_waiting else []), clusters=self.clusters)

    def command_of(self, request: ClusterRequest, command: str) -> str:
        return wrapped(request, command)

    def own_job(self) -> SlurmOwnJob:
        return SlurmOwnJob()


def _written(pilots: PilotJobs) -> str:
    with open(pilots.script, "w") as file:
        file.write(script_of(pilots.folder, pilots.request, pilots.python, group=pilots.group))
    return pilots.script


def _dependency(request: ClusterRequest, after: int | None) -> list[str]:
    """On the command line it replaces the dependencies in the script, so those are repeated here."""
    if after is None:
        return []
    return [f"--dependency={','.join([*request.dependencies, f'afterany:{after}'])}"]
