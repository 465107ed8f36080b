"""`duckrow submit`: jobs for the daemon's queue; on disk before their ids are printed."""

from __future__ import annotations

import gc
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from duckrow.api.client import Client
from duckrow.api.jobs.submit import submit_jobs
from duckrow.cli.console import print_json, say, tell
from duckrow.cli.opening import client_of_verb
from duckrow.cli.options.command_words import command_of
from duckrow.cli.options.gpu_options import gpu_count, gpu_count_options
from duckrow.cli.options.job_options import JobOptions, job_options, take_job_options
from duckrow.cli.options.sbatch_command import SpeaksSbatch, say_not_read, say_unused, variables_for_sbatch
from duckrow.cli.options.script_lines import sbatch_options, words_in
from duckrow.cli.options.slurm_options import slurm_options, take_slurm_options
from duckrow.cli.options.submit_output import output_of, refuse_outputs
from duckrow.cli.options.verb_options import SubmitOptions
from duckrow.core.errors import EXIT_FAILED, EXIT_OK, UsageError
from duckrow.core.jobs.arrays import Array, parse_array
from duckrow.core.jobs.commands import CommandReader, has_code, script_options
from duckrow.core.jobs.dependencies import Dependency, parse_after
from duckrow.core.jobs.job import DEFAULT_PRIORITY, JobSpec, name_of_command
from duckrow.core.life.states import Outcome


class SubmitCommand(SpeaksSbatch):
    """Options come before the command. Those in a script's lines come before the typed ones, which win."""

    common = (
        *("name", "project", "gpus", "without_gpu", "gpu_mem", "pack", "timeout", "retries"),
        *("priority", "after", "array", "hold", "variables", "file", "waits", "on"),
    )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        typed = list(args)
        rest = super().parse_args(ctx, args)
        words = list(ctx.params["words"])
        script = _script_text(words, ctx.params["file"] or ctx.params["wrap"])
        ctx.meta["duckrow.script"] = script
        options = words_in(script, "#DUCKROW")
        if options:
            ctx.params.clear()
            super().parse_args(ctx, list(options))
            if ctx.params["words"]:
                raise UsageError(f"'{shlex.join(ctx.params['words'])}' in a #DUCKROW line is not an option.")
            ctx.params.clear()
            rest = super().parse_args(ctx, options + typed)
        return self.add_sbatch_lines(ctx, script, options + typed) or rest


def _script_text(words: list[str], file: str | None) -> str:
    """The submitted script: from standard input, or the file that is the first word of the command."""
    if not words and file is None and sys.stdin is not None and not sys.stdin.isatty():
        return os.fsdecode(sys.stdin.buffer.read())
    if words and os.path.isfile(words[0]) and os.path.getsize(words[0]) < 1 << 20:
        with open(words[0], "rb") as script:
            text = os.fsdecode(script.read())
        return text if text.startswith("#!") or script_options(text) or sbatch_options(text) else ""
    return ""


@click.command(cls=SubmitCommand, context_settings={"allow_interspersed_args": False}, short_help="Add jobs.")
@click.argument("words", nargs=-1, metavar="[--] COMMAND...")
@click.option("--file", "-F", metavar="FILE", help="Add each line of this file as a job (- for standard input).")
@click.option(
    "--delimiter", metavar="TEXT", help="With --file: allow jobs of several lines; a line with only TEXT ends a job."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["commands", "json"]),
    default="commands",
    help="Format of the lines of --file: commands, or JSON with a name, folder, env ... for each job.",
)
@gpu_count_options()
@click.option("--wrap", metavar="COMMAND", help="Shell text to run, as in sbatch.")
@click.option(
    "--outfile",
    "-o",
    type=click.Path(),
    help="Write the output to this file instead of the job's log; %j is the job's id.",
)
@click.option("--error", type=click.Path(), help="Write its errors (stderr) to this file.")
@click.option(
    "--after",
    "after",
    multiple=True,
    metavar="[ok|any|failed:]IDS",
    help="Wait for these jobs to succeed, end or fail.",
)
@click.option("-d", "--dependency", multiple=True, metavar="afterok:IDS", help="The same, written as for sbatch.")
@click.option(
    "--if-broken",
    type=click.Choice(["skip", "wait"]),
    help="With --after: what to do if the other job ends in the wrong way.  [default: skip]",
)
@click.option("--begin", metavar="TIME", help="Start it no earlier than 22:00, +2h, tomorrow, '2026-11-16 08:00'.")
@click.option("--array", metavar="0-9%4", help="One job for each index, in DUCKROW_ARRAY_INDEX; %N: N at a time.")
@click.option("--priority", type=int, metavar="N", help=f"Higher ones start first.  [default: {DEFAULT_PRIORITY}]")
@click.option("--root", type=click.Path(), help="Create the run's folder in this one.  [default: the state folder]")
@click.option("--snapshot", is_flag=True, help="Copy the code first, so that later edits do not change it.")
@click.option("--hold", is_flag=True, help="Hold it until `duckrow release`.")
@click.option("--wait", "-w", "waits", is_flag=True, help="Wait until it is done; exit with the job's exit code.")
@click.option("--json", "as_json", is_flag=True, help="Print the ids as JSON.")
@slurm_options
@job_options
@click.pass_context
def command(ctx: click.Context, /, words: tuple[str, ...], file: str | None, **values: Any) -> int:
    """Add a job to the queue; the daemon runs it when a device is free. Prints its id.

    \b
    duckrow submit -- python train.py --lr 0.1        one job
    duckrow submit --gpus 2 -- torchrun train.py      that needs two GPUs
    duckrow submit 'python prep.py && python fit.py'  shell text, in quotes
    duckrow submit --file commands.txt                thousands of jobs, one per line
    duckrow submit --after 12 -- python eval.py       when job 12 has succeeded
    duckrow submit --array 0-9%4 'train $DUCKROW_ARRAY_INDEX'
    duckrow submit train.sh                           with the options in its #DUCKROW or #SBATCH lines
    duckrow submit <<END                              a script of several lines as one job
    duckrow submit --on slurm --file commands.txt     as runs of SLURM jobs

    The job runs in this folder with your environment variables. If the daemon is not running, submit starts it.
    """
    if values["if_broken"] is not None and not (values["after"] or values["dependency"]):
        raise UsageError("--if-broken needs --after 12: it says what to do if that job ends in the wrong way.")
    if values["delimiter"] is not None and file is None:
        raise UsageError("--delimiter is for a file of several jobs: duckrow submit --file jobs.txt --delimiter %%")
    if values["form"] == "json" and file is None:
        raise UsageError("--format json is for a file with one job per line: duckrow submit --format json --file FILE")
    gpus = gpu_count(values)
    options = take_job_options(values)
    options.priority = options.priority if values["priority"] is None else values["priority"]
    on, asked = take_slurm_options(values)
    given = SubmitOptions(**values)
    texts = _commands(ctx, list(words), file, given.wrap, given.delimiter)
    output = output_of(given.outfile, given.error)
    if not words and ctx.meta["duckrow.script"]:
        options.name = options.name or name_of_command(ctx.meta["duckrow.script"])
    outfile = None if output else given.outfile
    if given.form == "json":
        specs = _specs_of_lines(texts, options, gpus, outfile, on)
    else:
        specs = options.specs(texts, gpus, outfile)
    _say_when(specs, given)
    array = None if given.array is None else parse_array(given.array)
    if array is not None:
        specs = _arrayed(specs, array)
    refuse_outputs(specs, given.outfile, output)
    client = client_of_verb()
    if on is not None:
        return _submit_on(ctx, client, on, asked, specs, given, dict(options.variables), options.name)
    if given.root or given.snapshot:
        from duckrow.api.adding.run_folders import give_folders

        give_folders(specs, given.root or client.runs_folder, given.snapshot)
    after = _after(given)
    limit = array.max_running if array else None
    variables = {**variables_for_sbatch(ctx, specs[0], array, given.wrap), **dict(options.variables)}
    ids = submit_jobs(client, specs, variables, after, limit, output)
    gc.enable()
    say_unused(ctx)
    _print_ids(ids, specs, given.as_json)
    return _wait(client, ids) if given.waits else EXIT_OK


def _say_when(specs: Sequence[JobSpec], given: SubmitOptions) -> None:
    """What they wait for besides a device, if anything."""
    if not (given.hold or given.if_broken or given.begin):
        return
    begin = (None, None) if given.begin is None else _begin(given.begin)
    for spec in specs:
        spec.held, spec.if_broken = given.hold, given.if_broken or "skip"
        spec.not_before, spec.delay_s = begin


def _specs_of_lines(
    lines: Sequence[str], options: JobOptions, gpus: int | None, outfile: str | None, on: str | None
) -> list[JobSpec]:
    """Jobs from lines of JSON; `on`: the cluster that they go to."""
    from duckrow.cli.options.json_jobs import refuse_own_request, spec_of_line

    specs = [spec_of_line(line, options, gpus) for line in lines]
    for spec in specs:
        spec.outfile = spec.outfile or (None if outfile is None else os.path.abspath(outfile))
        if on is None:
            refuse_own_request(spec)
    return specs


def _after(given: SubmitOptions) -> list[Dependency]:
    """What it waits for, from `--after` and sbatch's `--dependency`."""
    texts = list(given.after)
    if given.dependency:
        from duckrow.core.slurm.sbatch_values import after

        texts += [after(text) for text in given.dependency]
    return [dependency for text in texts for dependency in parse_after(text)]


def _submit_on(
    ctx: click.Context,
    client: Client,
    on: str,
    asked: dict[str, Any],
    specs: list[JobSpec],
    given: SubmitOptions,
    variables: dict[str, str],
    name: str,
) -> int:
    """Submit to a cluster, without waiting for the runs."""
    from duckrow.api.clusters.submit import read_request, submit_batch
    from duckrow.cli.options.slurm_options import refuse_with_cluster

    in_slurm = "SLURM has it itself: --sbatch="
    own_log = "Each run has its own log: duckrow logs."
    refuse_with_cluster([("begin", given.begin, f"{in_slurm}--begin=..."), ("error", given.error, own_log)])
    if given.outfile and "%" in given.outfile:
        raise UsageError(f"--outfile {given.outfile}: a % does not go with --on. {own_log}")
    say_not_read(ctx)
    after = _after(given)
    if after and given.hold:
        raise UsageError("--hold does not go with --after on a cluster: hold the jobs that they wait for.")
    if given.root or given.snapshot:
        from duckrow.api.adding.run_folders import give_folders

        give_folders(specs, given.root or "duckrow-runs", given.snapshot)
    ids = submit_batch(client, specs, read_request(on, asked), variables, name, tell=tell, after=after)
    _print_ids(ids, specs, given.as_json)
    return _wait(client, ids) if given.waits else EXIT_OK


def _begin(text: str) -> tuple[float | None, float | None]:
    """(not before, delay)."""
    from duckrow.api.adding.begin import parse_begin

    return parse_begin(text)


def _arrayed(specs: list[JobSpec], array: Array) -> list[JobSpec]:
    """One job for each index."""
    if len(specs) != 1:
        raise UsageError("--array is for one command. A file already has one job per line.")
    return [replace(specs[0], array_index=index) for index in array.indices]


def _wait(client: Client, ids: Sequence[int]) -> int:
    """The exit code of one job, as a shell reports it; for several, whether all succeeded."""
    from duckrow.api.jobs.wait import wait

    views = wait(client, ids, tell=tell)
    if len(views) > 1:
        return EXIT_OK if all(view.outcome == Outcome.SUCCEEDED for view in views) else EXIT_FAILED
    if views[0].signal is not None:
        return 128 + views[0].signal
    return EXIT_FAILED if views[0].exit_code is None else views[0].exit_code


def _commands(
    ctx: click.Context, words: list[str], file: str | None, wrap: str | None, delimiter: str | None
) -> list[str]:
    if wrap is not None:
        if words or file is not None:
            raise UsageError("Either --wrap or a command, not both.")
        return [wrap]
    if file is not None:
        if words:
            raise UsageError("Either --file or a command, not both.")
        gc.disable()  # a file may have a million jobs, none of which is garbage: not to be looked for among them
        return _read_commands(file, delimiter)
    script: str = ctx.meta["duckrow.script"]
    if words:
        if script and ctx.params["cwd"] is not None:
            words = [os.path.abspath(words[0]), *words[1:]]  # its path is relative to here, but it runs there
        if script and not os.access(words[0], os.X_OK):
            words = [*_interpreter(script), *words]
        elif script and "/" not in words[0]:
            words = [f"./{words[0]}", *words[1:]]
        elif not script:
            _refuse_no_script(words)
        return [command_of(words)]
    if has_code(script):
        return [_by_its_interpreter(script.rstrip("\n"))]
    raise UsageError("There is nothing to submit. Write: duckrow submit -- python train.py")


def _refuse_no_script(words: list[str]) -> None:
    """Refuse `duckrow submit train.sh` if there is no such file, or nothing that could run it."""
    path, ending = words[0], os.path.splitext(words[0])[1]
    if ending not in _PROGRAMS or any(character in path for character in " ;|&<>$`'\"()"):
        return
    if not os.path.exists(path):
        import shutil

        if "/" in path or shutil.which(path) is None:
            raise UsageError(f"There is no file {path} in this folder. Give its path, or a command to run.")
    elif os.path.isfile(path) and ("/" not in path or not os.access(path, os.X_OK)):
        rest = f" {shlex.join(words[1:])}" if words[1:] else ""
        raise UsageError(
            f"{path} does not begin with #!, so duckrow does not know which program runs it. Write: "
            f"duckrow submit -- {_PROGRAMS[ending]} {path}{rest}"
        )


_PROGRAMS = {".sh": "sh", ".bash": "bash", ".py": "python", ".sbatch": "bash", ".slurm": "bash"}


def _by_its_interpreter(script: str) -> str:
    """Run a script from standard input with the program of its `#!` line, not with the shell of all jobs."""
    program = _interpreter(script)
    if program in (["/bin/sh"], ["/usr/bin/sh"], ["/usr/bin/env", "sh"]):
        return script
    return f"exec {shlex.join([*program, '-c', script])}"


def _interpreter(script: str) -> list[str]:
    first = script.split("\n", 1)[0]
    return first[2:].split() if first.startswith("#!") else ["/bin/sh"]


def _read_commands(file: str, delimiter: str | None) -> list[str]:
    try:
        with sys.stdin.buffer if file == "-" else open(file, "rb") as stream:
            text = os.fsdecode(stream.read())
    except OSError as error:
        raise UsageError(f"The file {file} cannot be read: {error.strerror}.") from None
    reader = CommandReader(delimiter)
    commands = [*reader.feed(text), *reader.finish()]
    if not commands:
        raise UsageError(f"There is no command in {'standard input' if file == '-' else file}.")
    return commands


def _print_ids(ids: Sequence[int], specs: list[JobSpec], as_json: bool) -> None:
    if as_json:
        print_json([{"id": job_id, "name": spec.name} for job_id, spec in zip(ids, specs, strict=True)])
    elif len(ids) == 1:
        print(ids[0])
    else:
        print(f"{ids[0]}-{ids[-1]}")
        say(f"duckrow: {len(ids)} jobs submitted.")
