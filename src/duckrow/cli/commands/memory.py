"""`duckrow memory`: what was learned about the GPU memory of jobs."""

from __future__ import annotations

import time

import click

from duckrow.api.devices.memory import Memory
from duckrow.cli.console import clean, print_json, print_table, say
from duckrow.cli.opening import client_of_verb
from duckrow.core.errors import EXIT_OK, UsageError
from duckrow.core.units import format_duration, format_mb, parse_size_mb, plural


@click.group(
    invoke_without_command=True, short_help="Show and correct what duckrow knows about the GPU memory of jobs."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md describes it).")
@click.pass_context
def command(ctx: click.Context, /, as_json: bool) -> int:
    """Show the most GPU memory that jobs have used, by recipe and GPU model. --pack and --gpu-mem auto use this.

    RECIPE is a number from the list, or a part of the text of just one recipe.

    \b
    duckrow memory
    duckrow memory set 2 12G                       it uses 12 GB, whatever duckrow measures
    duckrow memory set train.py 12G --model H200   on GPUs of this model
    duckrow memory forget train.py                 learn it again
    duckrow memory forget --all
    """
    return EXIT_OK if ctx.invoked_subcommand else _show(as_json)


def _show(as_json: bool) -> int:
    peaks = Memory(client_of_verb()).peaks()
    if as_json:
        print_json([peak._asdict() for peak in peaks])
        return EXIT_OK
    if not peaks:
        say("duckrow: nothing has been learned yet. duckrow learns from jobs with --pack or --gpu-mem auto.")
        return EXIT_OK
    now = time.time()
    rows = [
        (
            str(number),
            format_mb(peak.peak_mb) + (" (set)" if peak.corrected else ""),
            str(peak.runs),
            f"{format_duration(now - peak.at)} ago",
            peak.model or "?",
            peak.recipe,
        )
        for number, peak in enumerate(peaks, start=1)
    ]
    print_table(("NR", "PEAK", "RUNS", "LAST", "GPU", "RECIPE"), rows)
    return EXIT_OK


@command.command("set")
@click.argument("recipe")
@click.argument("size")
@click.option("--model", metavar="NAME", help="Only on GPUs of this model: a part of its name.")
def set_peak(recipe: str, size: str, model: str | None) -> int:
    """Say what jobs of a recipe take at most. It holds, whatever is seen, until it is forgotten."""
    peak_mb = parse_size_mb(size)
    for peak in Memory(client_of_verb()).correct(recipe, peak_mb, model):
        where = f" on {peak.model}" if peak.model else ""
        say(f"duckrow: {clean(peak.recipe)}: {format_mb(peak_mb)}{where}.")
    return EXIT_OK


@command.command("forget")
@click.argument("recipe", required=False)
@click.option("--all", "everything", is_flag=True, help="Forget everything that was learned.")
def forget(recipe: str | None, everything: bool) -> int:
    """Forget what a recipe takes: its next job gets a GPU to itself, and is learned from."""
    if (recipe is None) != everything:
        raise UsageError("Say which recipe to forget, by its number or a part of its text; or --all.")
    forgotten = Memory(client_of_verb()).forget(recipe)
    if recipe is None:
        say(f"duckrow: {plural(len(forgotten), 'peak')} forgotten.")
    for peak in forgotten if recipe is not None else []:
        say(f"duckrow: forgotten: {clean(peak.recipe)}{f' on {peak.model}' if peak.model else ''}.")
    return EXIT_OK
