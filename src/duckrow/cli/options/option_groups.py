"""The help of verbs with many options: in groups, what people need most first."""

from __future__ import annotations

from collections.abc import Iterator

import click

from duckrow.cli.help_all import FLAG, shows_all
from duckrow.core.devices.policy import KNOBS

# Options in no group come last, under "Options".
GROUPS = {
    "What to run": (
        *("_param", "_or", "file", "delimiter", "form", "wrap", "mode", "n_samples", "seed"),
        *("here", "queue", "resume", "resumed", "once"),
    ),
    "Each job": (
        *("name", "project", "gpus", "without_gpu", "gpu_mem", "total_gpu_mem", "pack", "memory_params"),
        *("cpus", "mem", "mem_limit", "timeout", "notice", "grace", "retries", "backoff", "requeue_lost"),
        *("variables", "cwd", "shell", "outfile", "error", "max_log", "preload", "priority"),
        *("after", "dependency", "if_broken", "begin", "array", "hold", "root", "snapshot"),
    ),
    "Where it runs": ("devices", "slots", "jobs_per_gpu", "prefer", "lifo"),
    "Sharing with others": tuple(knob.option for knob in KNOBS.values() if knob.option != "prefer"),
    "On a cluster (with --on)": (
        *("on", "partition", "account", "qos", "gres", "time", "nodes", "cpus_per_task"),
        *("runs_per_job", "parallel_runs", "fixed_chunks", "max_jobs", "sbatch"),
    ),
}
_REST = "Options"


Record = tuple[str, str]  # an option, and what it means


class GroupedCommand(click.Command):
    """A verb whose help groups the options by topic; with `common`, `--help` shows only those."""

    common: tuple[str, ...] = ()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.common and not shows_all(ctx):
            self._format_common(ctx, formatter)
            return
        for title, records in self._grouped(ctx):
            with formatter.section(title):
                formatter.write_dl(records)

    def _format_common(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        records = dict(self._records(ctx))
        with formatter.section("Common options"):
            formatter.write_dl([records[name] for name in self.common])
        left_out = {param.name for param in self.params} & records.keys() - {*self.common, "help_all"}
        formatter.write_paragraph()
        formatter.write_text(f"{len(left_out)} more options: {ctx.command_path} {FLAG}")

    def _grouped(self, ctx: click.Context) -> Iterator[tuple[str, list[Record]]]:
        """The options of each group that has any, in the order of the groups."""
        groups: dict[str, list[Record]] = {title: [] for title in (*GROUPS, _REST)}
        for name, record in sorted(self._records(ctx), key=lambda named: _place_in_group(named[0])):
            groups[_group_of(name)].append(record)
        return ((title, records) for title, records in groups.items() if records)

    def _records(self, ctx: click.Context) -> Iterator[tuple[str, Record]]:
        """The options that are not hidden, by name."""
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                yield parameter.name or "", record


def _group_of(name: str) -> str:
    return next((title for title, names in GROUPS.items() if name in names), _REST)


def _place_in_group(name: str) -> int:
    """Options in no group keep the order of the verb."""
    names = GROUPS.get(_group_of(name), ())
    return names.index(name) if name in names else 0
