"""Runs on a SLURM cluster: one batch for each launch. Its SLURM jobs take the next run whenever they are free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from duckrow.hydra.resources import Resources
from duckrow.hydra.wanted import LaunchOptions

if TYPE_CHECKING:
    from duckrow.api.client import Client
    from duckrow.api.clusters.submit import ClusterRequest
    from duckrow.core.jobs.job import JobSpec

# The keys of `duckrow_slurm` that are for SLURM, with the same names.
KEYS = (
    "on partition account qos time gres gpus_per_node cpus_per_task mem_per_node constraint exclude comment nodelist"
    " reservation nodes runs_per_job parallel_runs fixed_chunks max_jobs signal_delay max_interruptions setup sbatch"
).split()


class SlurmBatch:
    counts_failures = False
    look_s = 0.3  # its news does not come through the database
    how_it_ends = "somebody cancelled all SLURM jobs of the batch"

    def __init__(self, request: ClusterRequest, name: str) -> None:
        self._request, self._name = request, name
        self._batches: set[int] = set()

    def submit(self, client: Client, specs: Sequence[JobSpec], environment: Mapping[str, str]) -> None:
        from duckrow.api.clusters.submit import submit_batch
        from duckrow.api.clusters.watch import batches_of

        ids = submit_batch(client, specs, self._request, environment, self._name)
        self._batches |= batches_of(client, ids)

    def is_over(self, client: Client) -> bool:
        from duckrow.api.clusters.watch import still_batches

        return bool(self._batches) and self._batches <= set(still_batches(client))

    def stop(self, client: Client, ids: Sequence[int]) -> None:
        if ids:
            from duckrow.api.jobs.kill import kill

            kill(client, ids, answered=False)

    def close(self) -> None:
        pass


def place_on_slurm(wanted: LaunchOptions, folder: str, name: str, runs: int) -> tuple[SlurmBatch, Resources]:
    """`folder`: must be visible on the compute nodes, like all of `hydra.sweep.dir`. `runs`: how many there will be."""
    from duckrow.api.clusters.submit import read_request

    given = dict(wanted.others)
    values = {key: given[key] for key in KEYS if key in given and key not in ("on", "mem_per_node")}
    values |= {"mem": given.get("mem_per_node"), "folder": f"{folder}/batches", "job_name": name}
    if wanted.divided.gpus:
        visible = f"export CUDA_VISIBLE_DEVICES={','.join(wanted.divided.gpus)}"
        values["setup"] = [*values.get("setup", ()), visible]
    request = read_request(given.get("on", "slurm"), values)
    resources = Resources(folder, request.runs_at_a_time, wanted.divided.cores, wanted.divided.delay_s)
    jobs = max(request.jobs_for(runs), 1)
    resources.beginnings = request.runs_at_a_time * min(jobs, request.max_jobs or jobs)
    return SlurmBatch(request, name), resources


def from_submitit(values: Mapping[str, Any]) -> dict[str, Any]:
    """Our keys for those of hydra-submitit-launcher and clusterduck."""
    same = ("partition", "account", "qos", "gres", "cpus_per_task", "constraint", "exclude", "comment", "setup")
    of_sbatch = ("cpus_per_gpu", "gpus_per_task", "mem_per_gpu", "mem_per_cpu")
    further = {key: values[key] for key in of_sbatch if values[key] is not None} | dict(values["additional_parameters"])
    return {
        **{key: values[key] for key in same},
        "time": f"{values['timeout_min']}m",
        "gpus_per_node": values["gpus_per_node"],
        "mem_per_node": None if values["mem_gb"] is None else f"{values['mem_gb']}G",
        "signal_delay": values["signal_delay_s"],
        "max_interruptions": values["max_num_timeout"] or None,
        "runs_per_job": values["total_runs_per_node"],
        "fixed_chunks": values["total_runs_per_node"] is not None,
        "max_jobs": values["array_parallelism"] if values["total_runs_per_node"] is not None else 1,
        "sbatch": [_option(key, value) for key, value in further.items()],
    }


def _option(key: str, value: Any) -> str:
    name = f"--{key.replace('_', '-')}"
    return name if value is None or value is True else f"{name}={value}"
