"""`duckrow run`: runs commands from a file or a pipe on the devices of this machine until all are done."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import Any

import click

from duckrow.cli.options.gpu_options import DeviceCommand, gpu_count, gpu_count_options
from duckrow.cli.options.job_options import device_options, job_options
from duckrow.cli.options.slurm_options import slurm_options, take_slurm_options
from duckrow.cli.options.typed_job_options import take_job_options
from duckrow.cli.options.verb_options import RunOptions, has_only_slots, take_run_options
from duckrow.cli.runs.lines import refuse_program
from duckrow.cli.uses_of_verbs import VerbUse, any_typed, refuse_meaningless
from duckrow.core.errors import UsageError
from duckrow.core.jobs.commands import LAST


class RunCommand(DeviceCommand):
    """`--resume commands.txt` is a flag and a file; `--resume=NAME`, or `--resume NAME` without such a file, a run."""

    common = (
        *("devices", "slots", "jobs_per_gpu", "gpus", "gpu_mem", "pack", "timeout", "retries"),
        *("follow", "resumed", "max_failures", "dry_run", "on"),
    )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        ctx.allow_extra_args = True  # we refuse them ourselves, and say what was probably meant
        args = [f"--resume={LAST}" if word == "--resume" else word for word in args[:end]] + args[end:]
        rest = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            raise UsageError(f"`duckrow run` takes one file of commands. {_meant(ctx, rest)}")
        return rest


def _meant(ctx: click.Context, rest: Sequence[str]) -> str:
    """What somebody wanted who typed several words."""
    words = [str(ctx.params["file"]), *rest]
    if ctx.params.get("resumed") == LAST:
        return f"To resume a run by its name with another file: duckrow run --resume={shlex.join(words)}"
    if all(map(os.path.isfile, words)):
        return f"To run several: cat {shlex.join(words)} | duckrow run"
    return f"To run one command: duckrow run -- {shlex.join(words)}"


@click.command(cls=RunCommand, short_help="Run commands from a file or a pipe.")
@click.argument("file", required=False)
@device_options
@gpu_count_options()
@click.option("--delimiter", metavar="TEXT", help="Allow jobs of several lines: a line with only TEXT ends a job.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["commands", "json"]),
    help="Format of the lines: commands, or JSON with a name, folder, env ... for each job.",
)
@click.option("--follow/--no-follow", "-f", default=None, help="Print all output, each line prefixed with its job.")
@click.option("--passthrough", is_flag=True, help="Print the output of the jobs unchanged; keep no logs.")
@click.option(
    "--resume",
    "resumed",
    metavar="[RUN]",
    help="Continue an interrupted run: the last one of this file in this folder, or RUN.",
)
@click.option("--max-failures", type=click.IntRange(1), metavar="N", help="Start nothing more after N failures.")
@click.option("--announce", metavar="TEXT", help="Print TEXT when a job starts; {command} and {gpus} are filled in.")
@click.option("--events", type=click.Path(), help="Append a line of JSON to this file when a job starts or ends.")
@click.option("--once", is_flag=True, help="Keep nothing for --resume: skip what was not started.")
@click.option("--blocks", is_flag=True, hidden=True)  # an if, a loop or a case over several lines is one job
@click.option("--as-written", is_flag=True, hidden=True)  # jobs see the names of GPUs, and their order, as given
@click.option("--fill", is_flag=True, hidden=True)  # of several free devices take the one listed first
@click.option("--lifo", is_flag=True, help="Use the free device that was listed last, or freed last.")
@click.option("--dry-run", is_flag=True, help="Show what would run where.")
@click.option("--table/--no-table", default=None, help="Print a table of all jobs at the end.")
@slurm_options
@job_options
@click.pass_context
def command(ctx: click.Context, /, file: str | None, **values: Any) -> int:
    """Run commands from FILE or a pipe, one per line, on GPUs or CPU slots.

    \b
    duckrow run commands.txt                        on all GPUs, one job on each at a time
    duckrow run --devices 0,1 commands.txt          on these GPUs
    duckrow run --gpus 2 commands.txt               each job gets two GPUs
    cat commands.txt | duckrow run --slots 4        four at a time, without GPUs
    duckrow run --devices 0+1 2+3 commands.txt      each job gets one of these pairs
    tail -f -n 0 q | duckrow run --devices 0-2      a queue: lines start as they are appended
    duckrow run -- python train.py                  wait for a free GPU, then run this here
    duckrow run --resume commands.txt               continue an interrupted run
    duckrow run --on slurm --gres gpu:4 --time 2h commands.txt    on a SLURM cluster

    Blank lines and lines that begin with # are ignored. A backslash at the end of a line continues it. Each
    job's output goes to its own log (`duckrow logs ID`).

    Ctrl-C once: start nothing more, let running jobs finish. Twice: stop them. The exit code is 0 if all
    succeeded, 1 if any failed, 2 for wrong usage, 130 if interrupted.
    """
    if values["delimiter"] is None and values["form"] != "json" and not values["resumed"]:
        refuse_program(file)
    gpus = gpu_count(values)
    options = take_job_options(values)
    on, asked = take_slurm_options(values)
    given = take_run_options(values, gpus)
    words = ctx.meta.get("duckrow.command")
    refuse_meaningless(ctx, _uses(ctx, given, words, on))
    if words is not None:
        _check_one_command(file, given, on)
    if on is not None:
        from duckrow.cli.runs.slurm import run_on_cluster

        return run_on_cluster(on, asked, file, given, options, words)
    from duckrow.cli.runs.local import run_commands  # here: a cluster needs no scheduler

    return run_commands(file, given, options, words)


def _uses(ctx: click.Context, given: RunOptions, words: list[str] | None, on: str | None) -> list[VerbUse]:
    holds = {
        VerbUse.RESUMED: given.resumed is not None,
        VerbUse.ONE_COMMAND: words is not None,
        VerbUse.ONE_HERE: words is not None and on is None,
        VerbUse.ON_CLUSTER: on is not None,
        VerbUse.RESUMED_BATCH: given.resumed is not None and on is not None,
        VerbUse.PASSTHROUGH: given.watch.passthrough,
        VerbUse.ONLY_SLOTS: on is None and any_typed(ctx, VerbUse.ONLY_SLOTS) and has_only_slots("run", given.devices),
    }
    return [use for use, does in holds.items() if does]


def _check_one_command(file: str | None, given: RunOptions, on: str | None) -> None:
    """With a command after --, there is no list."""
    if file is not None:
        raise UsageError(f"Give either a file of commands ({file}) or a command after --, not both.")
    if given.watch.follow is False and on is None:
        raise UsageError("--no-follow: a command after -- writes to this terminal. Omit it, and redirect: > out.txt")
