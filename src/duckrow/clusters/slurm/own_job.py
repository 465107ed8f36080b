"""The SLURM job of a pilot: what its variables say, and what it asks SLURM about itself."""

from __future__ import annotations

import os
from collections.abc import Mapping

from duckrow.clusters.port import JobFacts
from duckrow.clusters.slurm import commands
from duckrow.clusters.slurm.states_question import StatesQuestion
from duckrow.core.ports import Allocation


class SlurmOwnJob:
    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self.facts = facts_in(environment)

    def time_left_s(self) -> float | None:
        return commands.time_left_s(self.facts.name)

    def start_again(self) -> None:
        commands.requeue(self.facts.name)

    def ask(self) -> StatesQuestion:
        """Ask the cluster that we are in, whatever the login node calls it."""
        return StatesQuestion()


def facts_in(environment: Mapping[str, str]) -> JobFacts:
    array, index = environment.get("SLURM_ARRAY_JOB_ID"), environment.get("SLURM_ARRAY_TASK_ID", "0")
    return JobFacts(
        name=f"{array}_{index}" if array else environment["SLURM_JOB_ID"],
        array_index=int(index),
        restarts=int(environment.get("SLURM_RESTART_COUNT", 0)),
        node=environment.get("SLURMD_NODENAME", ""),
        scratch=environment.get("SLURM_TMPDIR", ""),
        allocation=allocation_in(environment),
    )


def allocation_in(environment: Mapping[str, str]) -> Allocation:
    gpus = environment.get("SLURM_STEP_GPUS") or environment.get("SLURM_JOB_GPUS") or ""
    cores, memory_mb = (environment.get(name, "") for name in ("SLURM_CPUS_ON_NODE", "SLURM_MEM_PER_NODE"))
    return Allocation(gpus, _number(cores), _number(memory_mb))


def _number(text: str) -> int | None:
    """None: not given; 0 counts as not given."""
    return int(text) or None if text.isdigit() else None
