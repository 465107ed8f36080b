"""`duckrow submit` in the words of sbatch: its letters, and the `#SBATCH` lines of scripts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from duckrow.cli.options.job_options import parse_variable
from duckrow.cli.options.option_groups import GroupedCommand
from duckrow.cli.options.option_values import Parsed
from duckrow.cli.options.script_lines import sbatch_options
from duckrow.cli.options.submitted_script import SubmittedScript
from duckrow.core.errors import UsageError

if TYPE_CHECKING:
    pass

META = "duckrow.script"
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
        ctx.meta[META] = SubmittedScript(script, options)
        if not options or ctx.params["on"] is not None:
            return None
        from duckrow.cli.options.sbatch_script import meaning_of

        given = _given(ctx)
        meaning = meaning_of(options, given)
        ctx.meta[META] = SubmittedScript(script, options, meaning.unused)
        ctx.params.clear()
        rest = super().parse_args(ctx, [*meaning.words, *words])
        for name in {"outfile", "error"} - given:
            if ctx.params[name] is not None:
                ctx.params[name] = os.path.join(ctx.params["cwd"] or "", ctx.params[name])
        return rest


def _given(ctx: click.Context) -> set[str]:
    return {name for name in ctx.params if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}
