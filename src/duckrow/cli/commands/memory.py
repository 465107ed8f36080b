"""`duckrow memory`: what was learned about the GPU memory of jobs."""

from __future__ import annotations

import time
from typing import Any

import click

from duckrow.api.devices.memory import KnownRecipe, Memory, WouldReserve
from duckrow.cli.console import clean, print_json, print_table, say
from duckrow.cli.opening import client_of_verb
from duckrow.cli.options.command_words import command_of
from duckrow.core.errors import EXIT_OK, UsageError
from duckrow.core.units import format_duration, format_mb, parse_size_mb, plural

_ASKED = "duckrow.memory.command"


class _AboutACommand(click.Group):
    """What comes after `--` is a command to ask about, not a verb."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else None
        if at is not None and not any(word in self.commands for word in args[:at]):
            ctx.meta[_ASKED], args = args[at + 1 :], args[:at]
        return super().parse_args(ctx, args)


@click.group(
    cls=_AboutACommand,
    invoke_without_command=True,
    subcommand_metavar="[set | forget | -- COMMAND]",
    short_help="Show and correct what duckrow knows about the GPU memory of jobs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md describes it).")
@click.pass_context
def command(ctx: click.Context, /, as_json: bool) -> int:
    """Show the most GPU memory that jobs have used, by recipe and GPU model. --pack and --gpu-mem auto use this.

    DECIDES: the parameters that decide how much memory a job uses, learned from earlier runs. FORETOLD: how many of
    the latest runs used what the other runs would have told. AT A TIME: more jobs than these on a GPU did not help.
    With a command after --, show what duckrow would reserve for it, and why.

    RECIPE is a number from the list, or a part of the text of just one recipe.

    \b
    duckrow memory
    duckrow memory -- python train.py --size 32    what duckrow would reserve for this command
    duckrow memory set 2 12G                       it uses 12 GB, whatever duckrow measures
    duckrow memory set train.py 12G --model H200   on GPUs of this model
    duckrow memory forget train.py                 learn it again
    duckrow memory forget --all
    """
    if ctx.invoked_subcommand:
        return EXIT_OK
    words = ctx.meta.get(_ASKED)
    return _show(as_json) if words is None else _show_command(command_of(words), as_json)


def _show(as_json: bool) -> int:
    recipes = Memory(client_of_verb()).recipes()
    if as_json:
        print_json([_as_json(known) for known in recipes])
        return EXIT_OK
    if not recipes:
        say("duckrow: nothing has been learned yet. duckrow learns from jobs with --pack or --gpu-mem auto.")
        return EXIT_OK
    print_table(
        ("NR", "PEAK", "RUNS", "LAST", "FORETOLD", "DECIDES", "AT A TIME", "GPU", "RECIPE"),
        [_row(number, known, time.time()) for number, known in enumerate(recipes, start=1)],
    )
    return EXIT_OK


def _as_json(known: KnownRecipe) -> dict[str, Any]:
    told = {"deciding": known.deciding, "foretold": known.foretold, "compared": known.compared}
    told["together"] = None if known.pace is None else known.pace.together
    return {**known.peak._asdict(), **told}


def _row(number: int, known: KnownRecipe, now: float) -> tuple[str, ...]:
    peak = known.peak
    return (
        str(number),
        format_mb(peak.peak_mb) + (" (set)" if peak.corrected else ""),
        str(peak.runs),
        f"{format_duration(now - peak.at)} ago",
        f"{known.foretold} of {known.compared}" if known.compared > 1 else "-",
        ",".join(known.deciding) or "-",
        "-" if known.pace is None else str(known.pace.together),
        peak.model or "?",
        peak.recipe,
    )


def _show_command(asked: str, as_json: bool) -> int:
    memory = Memory(client_of_verb())
    found = memory.would_reserve(asked)
    if as_json:
        print_json([each._asdict() for each in found])
        return EXIT_OK
    if not found:
        recipe = clean(memory.recipe_of(asked))
        say(f"duckrow: nothing is known of {recipe}. It would start on a GPU without known jobs, to be learned from.")
    for each in found:
        amount = "a GPU to itself" if each.reserved_mb is None else format_mb(each.reserved_mb)
        where = f" on {each.model}" if each.model else ""
        pace = f" {each.pace}." if each.pace else ""
        say(f"duckrow: {clean(each.recipe)}{where}: {amount}. {_why(each)}{pace}")
    return EXIT_OK


def _why(told: WouldReserve) -> str:
    mb, by = format_mb(told.expected_mb or 0), clean(", ".join(told.deciding))
    if told.expected_mb is None:
        return f"By {by} it is far beyond all runs so far. It takes more than {format_mb(told.at_least_mb)}."
    return {
        "set": f"You have set {mb}.",
        "same": f"The same command took {mb}.",
        "between": f"Its memory is decided by {by}. Runs with as much or more took {mb}.",
        "beyond": f"Its memory is decided by {by}. It is beyond all runs so far: {mb} is a guess.",
        "most": f"No run was like it, and no parameter decides. Nearly all of the {told.runs} took {mb} or less.",
        "largest": f"No run was like it. {_largest_of(told.runs)} took {mb}.",
    }[told.basis]


def _largest_of(runs: int) -> str:
    return f"The largest of {runs} runs" if runs > 1 else "The only one so far"


@command.command("set")
@click.argument("recipe")
@click.argument("size")
@click.option("--model", metavar="NAME", help="Only on GPUs of this model: a part of its name.")
def set_peak(recipe: str, size: str, model: str | None) -> int:
    """Set what jobs of a recipe take at most. duckrow keeps to it until you forget it."""
    peak_mb = parse_size_mb(size)
    for peak in Memory(client_of_verb()).correct(recipe, peak_mb, model):
        where = f" on {peak.model}" if peak.model else ""
        say(f"duckrow: {clean(peak.recipe)}: {format_mb(peak_mb)}{where}.")
    return EXIT_OK


@command.command("forget")
@click.argument("recipe", required=False)
@click.option("--all", "everything", is_flag=True, help="Forget everything that was learned.")
def forget(recipe: str | None, everything: bool) -> int:
    """Forget what a recipe takes, and how many at a time are worth it. duckrow learns both again."""
    if (recipe is None) != everything:
        raise UsageError("Say which recipe to forget, by its number or a part of its text; or --all.")
    forgotten = Memory(client_of_verb()).forget(recipe)
    if recipe is None:
        say(f"duckrow: {plural(len(forgotten), 'peak')} forgotten.")
    for peak in forgotten if recipe is not None else []:
        say(f"duckrow: forgotten: {clean(peak.recipe)}{f' on {peak.model}' if peak.model else ''}.")
    return EXIT_OK
