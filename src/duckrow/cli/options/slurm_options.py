"""The options that say where runs go, and what to request from a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from duckrow.core.errors import UsageError

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS = [
    click.option("--on", metavar="CLUSTER", help="Run on a cluster: slurm, or a name from your settings."),
    click.option("--partition", help="SLURM's partition."),
    click.option("--account", help="The SLURM account to charge."),
    click.option("--qos", help="SLURM's quality of service."),
    click.option("--gres", help="What each SLURM job gets (gpu:4)."),
    click.option("--time", metavar="TIME", help="The time limit of a SLURM job (2h, 30m, 1-12:00:00)."),
    click.option("--nodes", type=click.IntRange(1), metavar="N", help="Nodes that each run uses; --gpus is per node."),
    click.option("--cpus-per-task", type=click.IntRange(1), metavar="N", help="Cores of a SLURM job."),
    click.option("--runs-per-job", type=click.IntRange(1), metavar="N", help="A SLURM job takes at most N runs."),
    click.option("--parallel-runs", type=click.IntRange(1), metavar="N", help="N runs at a time in a SLURM job."),
    click.option(
        "--fixed-chunks",
        is_flag=True,
        default=None,
        help="Assign runs to SLURM jobs in advance, not when they have room.",
    ),
    click.option("--max-jobs", type=click.IntRange(1), metavar="N", help="At most N SLURM jobs at a time."),
    click.option("--sbatch", multiple=True, metavar="OPTION", help="Another option for sbatch (--sbatch=--mem=8G)."),
]
NAMES = (
    *("partition", "account", "qos", "gres", "time", "nodes", "cpus_per_task"),
    *("runs_per_job", "parallel_runs", "fixed_chunks", "max_jobs", "sbatch"),
)

NOT_ON_CLUSTER = "does not go with --on."


def slurm_options(function: Function) -> Function:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def take_slurm_options(values: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """Take them out of a verb's arguments: the cluster, and the request to it."""
    on = values.pop("on")
    asked = {name: value for name in NAMES if (value := values.pop(name)) not in (None, ())}
    if on is None and asked:
        flag = f"--{next(iter(asked)).replace('_', '-')}"
        raise UsageError(f"{flag} is for runs on a cluster. Say which: --on slurm.{_here(asked)}")
    return on, asked


def _here(asked: dict[str, Any]) -> str:
    """The equivalent options on this machine, if there are any."""
    from duckrow.core.clusters.request import gpus_in
    from duckrow.core.slurm.sbatch_values import time_limit_here

    gpus = gpus_in(str(asked.get("gres", "")))
    said = [
        f" For a time limit here: --timeout {time_limit_here(asked['time'])}." if "time" in asked else "",
        f" For GPUs here: --gpus {gpus}." if gpus else "",
        f" For cores here: --cpus {asked['cpus_per_task']}." if "cpus_per_task" in asked else "",
    ]
    return "".join(said)


def refuse_with_cluster(typed: Iterable[tuple[str, object, str]]) -> None:
    """Refuse options that have no meaning on a cluster: (name, its value, what to do instead)."""
    for name, value, advice in typed:
        if value:
            raise UsageError(f"--{name.replace('_', '-')} {NOT_ON_CLUSTER} {advice}")
