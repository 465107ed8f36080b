"""The variables that a script written for sbatch finds.

Never SLURM_NTASKS, SLURM_NODELIST, SLURM_PROCID, SLURM_LOCALID or the old SLURM_JOBID: by these MPI, JAX and Lightning
tell that they are in an allocation, and then they ask SLURM for its nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

JOB_ID = "SLURM_JOB_ID"
FILLED_IN = "%j"
"""Stands for the job's id in variables that jobs share; the engine puts it in when it starts one."""

_KEPT = ("SLURM_CONF",)  # how SLURM is found


def variables_of(name: str, folder: str, indices: Sequence[int], cpus: int | None) -> dict[str, str]:
    """`folder`: where it is submitted. SLURM_ARRAY_TASK_ID and SLURM_ARRAY_JOB_ID are every array's."""
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
    """Those that tell of the allocation in which the submitter is, which is not the job's."""
    return [name for name in names if name.startswith("SLURM_") and name not in _KEPT]


def left_behind(environment: Mapping[str, str], export_all: bool) -> dict[str, str | None]:
    """What a job does not take along from here: each as None."""
    names = of_another_allocation(environment) if export_all else [n for n in environment if not _always_goes(n)]
    return dict.fromkeys(names)


def _always_goes(name: str) -> bool:
    """Without these no program is found, nor its user's files, nor duckrow's state."""
    return name in ("HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", *_KEPT) or name.startswith("DUCKROW_")
