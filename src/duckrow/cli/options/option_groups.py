"""The help of verbs with many options: in groups, what people need most first."""

from __future__ import annotations

import click

from duckrow.core.devices.policy import KNOBS

# Whatever is in no group comes last, under "Options".
GROUPS = {
    "This job": (
        *("name", "project", "gpus", "without_gpu", "gpu_mem", "total_gpu_mem", "pack", "memory_params"),
        *("cpus", "mem", "mem_limit", "timeout", "notice", "grace", "retries", "backoff", "requeue_lost"),
        *("variables", "cwd", "shell", "wrap", "outfile", "error", "max_log", "preload", "priority"),
        *("after", "dependency", "if_broken", "begin", "array", "hold", "root", "snapshot"),
    ),
    "Where it runs": ("devices", "slots", "jobs_per_gpu", "prefer", "lifo"),
    "Sharing with others": tuple(knob.option for knob in KNOBS.values() if knob.option != "prefer"),
    "On a cluster": (
        *(
            "on",
            "partition",
            "account",
            "qos",
            "gres",
            "time",
            "nodes",
            "cpus_per_task",
            "runs_per_job",
            "parallel_runs",
        ),
        *("fixed_chunks", "max_jobs", "sbatch"),
    ),
}
_REST = "Options"


class GroupedCommand(click.Command):
    """A verb whose options are shown by what they are about."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        records: dict[str, list[tuple[str, str]]] = {title: [] for title in (*GROUPS, _REST)}
        for parameter in sorted(self.get_params(ctx), key=_place_in_group):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                records[_group_of(parameter)].append(record)
        for title, lines in records.items():
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)


def _group_of(parameter: click.Parameter) -> str:
    return next((title for title, names in GROUPS.items() if parameter.name in names), _REST)


def _place_in_group(parameter: click.Parameter) -> int:
    """Those of no group stay in the order in which the verb has them."""
    names = GROUPS.get(_group_of(parameter), ())
    return names.index(parameter.name) if parameter.name in names else 0
