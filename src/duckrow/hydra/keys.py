"""The keys of `hydra.launcher`, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

_LAUNCHERS = "hydra_plugins.duckrow_launcher.launcher"
# Every Hydra application loads this, and nobody compares or shows these: such methods take long to make.
_described = partial(dataclass, repr=False, eq=False)


@_described
class RunConf:
    """Keys that mean the same wherever the runs go: what each run gets, and how the launch behaves."""

    gpus: int | None = None  # for each run; 0: none; null: one device, a GPU if there are GPUs
    gpu_mem: Any = None  # on each of its GPUs: 10G, MB, or auto (learn it); runs then share GPUs by memory
    total_gpu_mem: Any = None  # on all its GPUs together
    cpus: int | None = None
    mem: Any = None  # of the machine
    retries: int = 0
    timeout: Any = None  # of a run: seconds, or 2h
    max_failures: int | None = None  # start nothing more after this many failures
    wait_for_completion: bool = True  # false: submit and exit
    resume: bool = False  # in the same hydra.sweep.dir: run what is missing or failed
    preload: list[str] = field(default_factory=list)  # modules to import for warm starts, besides the script's
    warm: bool = True  # fork runs from a process that has imported what they need
    project: str | None = None
    name: str = "${hydra.job.name}"  # of the sweep, for `duckrow results`
    env: dict[str, str] = field(default_factory=dict)
    resources_config: dict[str, Any] = field(default_factory=dict)  # cpu: {cpus}, cuda: {gpus}, stagger: {delay}
    verbose: bool = False


@_described
class LocalConf(RunConf):
    _target_: str = f"{_LAUNCHERS}.DuckrowLocal"
    parallel_runs: int | None = None  # at a time; null: as many as there are devices
    jobs_per_gpu: int | None = None
    priority: int | None = None


@_described
class SlurmConf(RunConf):
    _target_: str = f"{_LAUNCHERS}.DuckrowSlurm"
    on: str = "slurm"  # or the name of a profile in the settings, whose values apply where none is given here
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    time: Any = None  # of a SLURM job
    gres: str | None = None
    gpus_per_node: int | None = None
    cpus_per_task: int | None = None
    mem_per_node: str | None = None
    constraint: str | None = None
    exclude: str | None = None
    comment: str | None = None
    nodelist: str | None = None
    reservation: str | None = None
    nodes: int | None = None  # for each run
    runs_per_job: int | None = None
    parallel_runs: int | None = None  # at a time within a SLURM job
    fixed_chunks: bool | None = None
    max_jobs: int | None = None
    signal_delay: Any = None
    max_interruptions: int | None = None
    setup: list[str] | None = None
    sbatch: list[str] | None = None  # further options of sbatch


@_described
class ClusterduckConf:
    """The keys of clusterduck and hydra-submitit-launcher, and new ones."""

    submitit_folder: str = "${hydra.sweep.dir}/.submitit/%j"
    timeout_min: int = 60
    cpus_per_task: int | None = None
    gpus_per_node: int | None = None
    tasks_per_node: int = 1
    mem_gb: int | None = None
    nodes: int = 1
    name: str = "${hydra.job.name}"
    stderr_to_stdout: bool = False
    parallel_runs_per_node: int = 1
    total_runs_per_node: int | None = None
    wait_for_completion: bool = False
    resources_config: dict[str, Any] = field(default_factory=dict)
    verbose: bool = False
    resume: bool = False
    max_failures: int | None = None
    retries: int = 0
    preload: list[str] = field(default_factory=list)
    warm: bool = True
    project: str | None = None


@_described
class ClusterduckLocalConf(ClusterduckConf):
    _target_: str = f"{_LAUNCHERS}.ClusterduckLocal"


@_described
class ClusterduckSlurmConf(ClusterduckConf):
    _target_: str = f"{_LAUNCHERS}.ClusterduckSlurm"
    partition: str | None = None
    qos: str | None = None
    comment: str | None = None
    constraint: str | None = None
    exclude: str | None = None
    gres: str | None = None
    cpus_per_gpu: int | None = None
    gpus_per_task: int | None = None
    mem_per_gpu: str | None = None
    mem_per_cpu: str | None = None
    account: str | None = None
    signal_delay_s: int = 120
    max_num_timeout: int = 0
    additional_parameters: dict[str, Any] = field(default_factory=dict)
    array_parallelism: int = 256
    setup: list[str] | None = None
    srun_args: list[str] | None = None


LAUNCHERS: dict[str, type] = {
    "duckrow_local": LocalConf,
    "duckrow_slurm": SlurmConf,
    "clusterduck_local": ClusterduckLocalConf,
    "clusterduck_slurm": ClusterduckSlurmConf,
}
"""By the names that users choose them by."""
