"""The variables that a script written for sbatch finds.

Never SLURM_NTASKS, SLURM_NODELIST, SLURM_PROCID, SLURM_LOCALID or the old SLURM_JOBID: from these MPI, JAX and
Lightning conclude that they are in an allocation, and then ask SLURM for its nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

JOB_ID = "SLURM_JOB_ID"
FILLED_IN = "%j"
"""Stands for the job's id in variables that jobs share; the engine fills it in when it starts a job."""

_KEPT = ("SLURM_CONF",)  # how SLURM is found


def variables_of(name: str, folder: str, indices: Sequence[int], cpus: int | None) -> dict[str, str]:
    """`folder`: where the job is submitted. Every array has SLURM_ARRAY_TASK_ID and SLURM_ARRAY_JOB_ID anyway."""
    found = {JOB_ID: FILLED_IN, "SLURM_JOB_NAME": name, "SLURM_SUBMIT_DIR": folder}
    if cpus is not None:
        found["SLURM_CPUS_PER_TASK"] = str(cpus)
    if indices:
        steps = {after - before for before, after in pairwise(indices)}
        found |= {
            "SLURM_ARRAY_TASK_COUNT": str(len(indices)),
            "SLURM_ARRAY_TASK_MIN": str(min(indices)),
            "SLURM_ARRAY_TASK_MAX": str(max(indices)),
            "SLURM_ARRAY_TASK_STEP": str(steps.pop() if len(steps) == 1 else 1),
        }
    return found


def of_another_allocation(names: Iterable[str]) -> list[str]:
    """Those that describe the submitter's own allocation, which is not the job's."""
    return [name for name in names if name.startswith("SLURM_") and name not in _KEPT]


def left_behind(environment: Mapping[str, str], export_all: bool) -> dict[str, str | None]:
    """The variables that a job does not get from here, each as None."""
    names = of_another_allocation(environment) if export_all else [n for n in environment if not _always_goes(n)]
    return dict.fromkeys(names)


def _always_goes(name: str) -> bool:
    """Without these, programs, the user's files and duckrow's state are not found."""
    return name in ("HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", *_KEPT) or name.startswith("DUCKROW_")
