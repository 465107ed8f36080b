"""`duckrow run`: runs commands from a file or a pipe on the devices of this machine until all are done."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import click

from duckrow.api.adding.job_values import existing_folder
from duckrow.api.machine.settings import Settings
from duckrow.cli.options.command_words import command_of
from duckrow.cli.options.gpu_options import DeviceCommand, gpu_count, gpu_count_options
from duckrow.cli.options.job_options import device_options, job_options
from duckrow.cli.options.slurm_options import slurm_options, take_slurm_options
from duckrow.cli.options.typed_job_options import JobOptions, take_job_options
from duckrow.cli.options.verb_options import RunOptions, take_run_options
from duckrow.cli.views.run_view import make_view
from duckrow.core.devices.inventory import Seat
from duckrow.core.devices.machine import BARE, Machine
from duckrow.core.errors import UsageError
from duckrow.core.jobs.commands import LAST, CommandReader, program_in_place_of_list
from duckrow.core.jobs.job import JobSpec

_LOOKED_AT_BYTES = 1 << 16  # how much of a file is read to check that it is a list of commands


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
            words = shlex.join([str(ctx.params["file"]), *rest])
            raise UsageError(f"`duckrow run` takes one file of commands. To run one command: duckrow run -- {words}")
        return rest


@click.command(cls=RunCommand, short_help="Run commands from a file or a pipe.")
@click.argument("file", required=False)
@device_options
@gpu_count_options()
@click.option("--delimiter", metavar="TEXT", help="Allow jobs of several lines: a line with only TEXT ends a job.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["commands", "json"]),
    default="commands",
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
    if not (values["delimiter"] is not None or values["form"] == "json" or values["resumed"]):
        _refuse_program(file)
    gpus = gpu_count(values)
    options = take_job_options(values)
    on, asked = take_slurm_options(values)
    given = take_run_options(values, gpus)
    if on is not None:
        return _run_on(on, asked, file, given, options, ctx.meta.get("duckrow.command"))
    from duckrow.cli.runs.local import check_devices, dry_run, run_here, run_list  # here: `--on` needs no scheduler

    settings = Settings()
    offer = check_devices(
        given.devices.with_settings(settings),
        given.devices.jobs_per_gpu,
        gpus,
        options,
        fill=given.fill,
        ask_sizes=given.form == "json",  # a line may request memory
        quiet=given.as_written,
    )
    given = given._replace(watch=given.watch.with_settings(settings))
    here = ctx.meta.get("duckrow.command")
    if here is not None:
        if given.announce or given.events:
            raise UsageError("--announce and --events are for a list of jobs. Omit them with a command after --.")
        return run_here(here, file, offer, gpus, options)
    spec_of = _spec_maker(given, options, offer.seats, offer.machine)
    if given.dry_run:
        return dry_run(list(map(spec_of, _all_commands(file, given.delimiter))), offer)
    if given.resumed == LAST and file not in (None, "-") and not os.path.exists(str(file)):
        file, given = None, given._replace(resumed=file)
    return run_list(file, offer, given, options, spec_of)


def _refuse_program(file: str | None) -> None:
    """Refuse `duckrow run train.py`: it would not do what was meant."""
    if file in (None, "-"):
        return
    assert file is not None
    try:
        with open(file, "rb") as stream:
            text = os.fsdecode(stream.read(_LOOKED_AT_BYTES)) if os.path.isfile(file) else ""
    except OSError:
        return  # reported when it is read
    instead = program_in_place_of_list(file, text)
    if instead is not None:
        raise UsageError(instead)


def _spec_maker(
    given: RunOptions, options: JobOptions, seats: Sequence[Seat] = (), machine: Machine = BARE
) -> Callable[[str], JobSpec]:
    """A function that makes a spec of each line. It remembers this folder: a run changes folders while it reads lines.

    `seats` and `machine`: a job must fit there; those of a cluster are not known yet.
    """
    if given.form != "json":
        return options.spec_maker(given.gpu_count)
    from duckrow.cli.options.json_jobs import spec_of_line

    options, here = replace(options, cwd=existing_folder(options.cwd)), os.getcwd()
    return lambda line: spec_of_line(line, options, given.gpu_count, seats, machine, here)


def _run_on(
    on: str,
    asked: dict[str, Any],
    file: str | None,
    given: RunOptions,
    options: JobOptions,
    words: Sequence[str] | None,
) -> int:
    """On a cluster: read all commands, then submit them, then watch. `words`: the one command after --."""
    from duckrow.api.clusters.submit import read_request
    from duckrow.cli.opening import client_of_verb
    from duckrow.cli.runs.slurm import check_options, print_script, resume_batch, run_batch

    check_options(given.devices, given)
    if given.resumed:
        name = given.resumed if given.resumed != LAST else None
        if name is None and file is not None and not os.path.exists(file):
            file, name = None, file
        return resume_batch(client_of_verb(), on, asked, file, name, given.watch)
    given = given if words is None else given._replace(form="commands")
    request = read_request(on, asked)
    commands = _all_commands(file, given.delimiter) if words is None else [command_of(words)]
    specs = list(map(_spec_maker(given, options), commands))
    if given.dry_run:
        return print_script(request, specs, options.name)
    if not specs:
        raise UsageError(f"There is no command in {file or 'standard input'}.")
    view = make_view(given.watch)
    variables = dict(options.variables)
    return run_batch(client_of_verb(), specs, request, variables, options.name, view, given.watch.max_failures, file)


def _all_commands(file: str | None, delimiter: str | None) -> list[str]:
    reader = CommandReader(delimiter)
    try:
        with open(file, "rb") if file is not None and file != "-" else sys.stdin.buffer as stream:
            text = os.fsdecode(stream.read())
    except OSError as error:
        raise UsageError(f"The file {file} cannot be read: {error.strerror}.") from None
    return [*reader.feed(text), *reader.finish()]
