"""`duckrow submit`: the command or the script, and the options, of jobs for the daemon's queue."""

from __future__ import annotations

import gc
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from duckrow.cli.options.gpu_options import gpu_count, gpu_count_options
from duckrow.cli.options.job_options import job_options
from duckrow.cli.options.sbatch_command import META, SpeaksSbatch
from duckrow.cli.options.script_lines import sbatch_options, words_in
from duckrow.cli.options.slurm_options import slurm_options, take_slurm_options
from duckrow.cli.options.typed_job_options import take_job_options
from duckrow.cli.runs.lines import all_commands
from duckrow.cli.submitting import SubmitOptions, command_of_words, interpreter, submit_commands
from duckrow.core.errors import UsageError
from duckrow.core.jobs.command_list import CommandList
from duckrow.core.jobs.commands import ListForm, has_code, script_options
from duckrow.core.jobs.job import DEFAULT_PRIORITY, SKIP, WAIT, name_of_command

if TYPE_CHECKING:
    from duckrow.cli.options.submitted_script import SubmittedScript


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
    type=click.Choice([SKIP, WAIT]),
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
    on, asked = take_slurm_options(values)
    given = SubmitOptions(**values)
    script: SubmittedScript = ctx.meta[META]
    texts = _commands(script.text, list(words), file, given, moves=ctx.params["cwd"] is not None)
    if not words and script.text:
        options.name = options.name or name_of_command(script.text)
    return submit_commands(texts, given, options, gpus, script, on, asked)


def _commands(script: str, words: list[str], file: str | None, given: SubmitOptions, moves: bool) -> CommandList:
    if given.wrap is not None:
        if words or file is not None:
            raise UsageError("Either --wrap or a command, not both.")
        return CommandList([given.wrap])
    if file is not None:
        if words:
            raise UsageError("Either --file or a command, not both.")
        gc.disable()  # a file may have a million jobs, none of which is garbage: not to be looked for among them
        return _read_list(file, ListForm(given.form, given.delimiter))
    if words:
        return CommandList([command_of_words(words, script, moves)])
    if has_code(script):
        return CommandList([_by_its_interpreter(script.rstrip("\n"))])
    raise UsageError("There is nothing to submit. Write: duckrow submit -- python train.py")


def _by_its_interpreter(script: str) -> str:
    """Run a script from standard input with the program of its `#!` line, not with the shell of all jobs."""
    program = interpreter(script)
    if program in (["/bin/sh"], ["/usr/bin/sh"], ["/usr/bin/env", "sh"]):
        return script
    return f"exec {shlex.join([*program, '-c', script])}"


def _read_list(file: str, form: ListForm) -> CommandList:
    listed = all_commands(file, form)
    if not listed.commands:
        raise UsageError(f"There is no command in {'standard input' if file == '-' else file}.")
    return listed
