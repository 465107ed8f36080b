"""`duckrow submit` in the words of sbatch: its letters, and the `#SBATCH` lines of scripts."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from duckrow.cli.console import say
from duckrow.cli.options.job_options import parse_variable
from duckrow.cli.options.option_groups import GroupedCommand
from duckrow.cli.options.option_values import Parsed
from duckrow.cli.options.script_lines import sbatch_options
from duckrow.core.errors import UsageError
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.slurm.sbatch_options import PREFIX

if TYPE_CHECKING:
    from duckrow.core.jobs.arrays import Array
    from duckrow.core.jobs.job import JobSpec

_META = "duckrow.sbatch"
_SPELLINGS = {
    "name": ("-J", "--job-name"),
    "outfile": ("--output",),
    "cpus": ("-c",),
    "gpus": ("-G",),
    "cwd": ("-D", "--chdir"),
    "array": ("-a",),
    "begin": ("-b",),
    "hold": ("-H",),
}
"""sbatch's names for our own options: only other spellings."""


def _variable(text: str) -> tuple[str, str]:
    """In sbatch, `-e` is a file, so the error says what to type for one."""
    if "=" not in text and text not in os.environ:
        raise UsageError(f"there is no variable {text}. Write NAME=VALUE; for a file of errors: --error {text}")
    return parse_variable(text)


_VARIABLE = Parsed("name=value", _variable)
_SRUN = 'command -v srun >/dev/null || srun() { "$@"; }'


class SbatchLines(NamedTuple):
    """The `#SBATCH` lines of the submitted script."""

    options: dict[str, str]
    unused: list[str]


class SpeaksSbatch(GroupedCommand):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for option in self.params:
            option.opts += _SPELLINGS.get(option.name or "", ())
            if option.name == "variables":
                option.type = _VARIABLE

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            from duckrow.cli.options.foreign_options import advice_on

            advice = advice_on(error.option_name)
            if advice is None:
                raise
            raise UsageError(advice) from None

    def add_sbatch_lines(self, ctx: click.Context, script: str, words: list[str]) -> list[str] | None:
        """Parse everything again, with the script's lines before the typed words, so that the typed words win."""
        options = sbatch_options(script)
        ctx.meta[_META] = SbatchLines(options, [])
        if not options or ctx.params["on"] is not None:
            return None
        from duckrow.cli.options.sbatch_script import meaning_of

        given = _given(ctx)
        meaning = meaning_of(options, given)
        ctx.meta[_META] = SbatchLines(options, meaning.unused)
        ctx.params.clear()
        rest = super().parse_args(ctx, [*meaning.words, *words])
        for name in {"outfile", "error"} - given:
            if ctx.params[name] is not None:
                ctx.params[name] = os.path.join(ctx.params["cwd"] or "", ctx.params[name])
        return rest


def _given(ctx: click.Context) -> set[str]:
    return {name for name in ctx.params if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}


def variables_for_sbatch(
    ctx: click.Context, spec: JobSpec, array: Array | None, wrap: str | None
) -> dict[str, str | None]:
    """The variables that a script for sbatch expects; None for those of ours that it does not inherit."""
    options = ctx.meta[_META].options
    if not options and wrap is None:
        return {}
    from duckrow.core.slurm.sbatch_values import exported
    from duckrow.core.slurm.sbatch_variables import left_behind, variables_of

    takes_all, named = exported(options.get("export", "ALL"), os.environ)
    indices = array.indices if array else ()
    own = variables_of(spec.name, os.getcwd(), indices, spec.needs.cpus)
    return {**left_behind(os.environ, takes_all), **named, **own}


def say_unused(ctx: click.Context) -> None:
    """Say what will differ from a cluster."""
    lines = ctx.meta[_META]
    if lines.unused:
        from duckrow.cli.options.sbatch_script import in_one_line

        say(f"duckrow: {in_one_line(lines.unused)}")
    if lines.options and _calls_srun(ctx.meta["duckrow.script"]) and not _is_program("srun"):
        say(f"duckrow: The script calls srun, which this machine does not have. Put this line before: {_SRUN}")


def _is_program(name: str) -> bool:
    import shutil

    return shutil.which(name) is not None


def _calls_srun(script: str) -> bool:
    return re.search(r"^\s*srun\s", script, re.MULTILINE) is not None and "srun()" not in script


def say_not_read(ctx: click.Context) -> None:
    """On a cluster, a script is a run like any other: its lines do not apply to the SLURM job that runs it."""
    if ctx.meta[_META].options:
        say(
            f"duckrow: The script's {PREFIX} lines were not used. With --on, write them as options: --partition, --time"
        )
