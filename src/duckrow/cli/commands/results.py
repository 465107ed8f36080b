"""`duckrow results`: the runs of a sweep in one table."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import click

from duckrow.api.results.choice import Choice, choose
from duckrow.api.results.csv import csv_text
from duckrow.api.results.results import Results, results
from duckrow.api.sweeps.listing import NoSweepYet, list_sweeps
from duckrow.cli.console import clean, print_json, print_table, say, terminal_height
from duckrow.cli.opening import client_of_verb
from duckrow.cli.views.job_table import clock_text
from duckrow.cli.views.result_table import heading, print_results, totals
from duckrow.core.errors import EXIT_OK, UsageError
from duckrow.core.jobs.job import shorten
from duckrow.core.sweeps.results import Row, json_ready

_LISTED = ("id", "name", "project", "runs", "succeeded", "failed", "running", "waiting", "created_at", "pattern")
_PATTERN_WIDTH = 200
_OTHER_LINES = 8  # lines of the screen above and below the rows


@click.command(short_help="Show the runs of a sweep: parameters, metrics, outcomes.")
@click.argument("sweep", required=False)
@click.option("--sort", metavar="COLUMN", help="Sort by a column; -COLUMN reverses the order.")
@click.option("--filter", "-f", "filters", multiple=True, metavar="EXPR", help="Only rows such as lr=0.1, 'loss<0.3'.")
@click.option("--best", metavar="METRIC", help="Only the run with the lowest value of this metric.")
@click.option("--max", "highest", is_flag=True, help="With --best: the highest.")
@click.option("--per", metavar="COLUMN", help="With --best: the best for each value of this parameter.")
@click.option("--columns", "-c", metavar="NAMES", help="What to show, with commas.")
@click.option("--all", "-a", "show_all", is_flag=True, help="Show all of them, not only a screenful.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, with all columns.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md describes it).")
@click.option("--list", "list_all", is_flag=True, help="List all sweeps instead.")
def command(sweep: str | None, as_csv: bool, as_json: bool, list_all: bool, show_all: bool, **options: Any) -> int:
    """Show the runs of a sweep (a name or an id; by default the newest): their parameters, the last value of each
    metric that they have reported, their outcomes, and why some failed. In a terminal, as many as fit on the screen.

    \b
    duckrow results                                   the newest sweep
    duckrow results train --sort val_loss             the lowest first; -val_loss: the highest
    duckrow results -f state=succeeded -f 'lr<0.1'    some of them; also != <= >= and 'model~resnet*'
    duckrow results --best acc --max --per model      the best of each model
    duckrow results --csv > train.csv                 for other programs; or --json
    duckrow results --list                            all sweeps
    """
    if as_csv and as_json:
        raise UsageError("Either --csv or --json, not both.")
    if (options["per"] or options["highest"]) and not options["best"]:
        raise UsageError("--per and --max go with --best METRIC.")
    if list_all:
        if sweep or show_all or any(options.values()):
            raise UsageError("--list shows all sweeps. Omit the sweep and all other options except --csv and --json.")
        return _print_sweeps(list_sweeps(client_of_verb()), as_csv, as_json)
    try:
        everything = results(sweep)
    except NoSweepYet as nothing:
        return _print_nothing(nothing, as_json)
    shown, columns = choose(everything, Choice(options.pop("filters"), **options))
    if as_csv or as_json:
        _print_data(shown, columns, as_json)
    else:
        _print_table(everything, shown, columns if options["columns"] else [], show_all)
    return EXIT_OK


def _print_data(rows: list[Row], columns: list[str], as_json: bool) -> None:
    if as_json:
        print_json([{column: json_ready(row[column]) for column in columns} for row in rows])
    else:
        sys.stdout.write(csv_text(rows, columns))


def _print_table(everything: Results, chosen: Results, columns: list[str], show_all: bool) -> None:
    say(heading(everything))
    shown = chosen if show_all or not sys.stdout.isatty() else chosen.first(max(terminal_height() - _OTHER_LINES, 1))
    if shown:
        # Which parameters vary depends on the whole sweep: for the best run alone, none would.
        usual = ["id", *everything.varying(), *everything.metrics, "state", "time_s", "peak_memory_mb"]
        left_out = print_results(shown, columns or usual, may_leave_out=not columns)
        sys.stdout.flush()
        if len(shown) < len(chosen):
            say(f"{len(chosen) - len(shown)} more: add --all, or choose with --sort, --filter and --best.")
        if left_out:
            say(f"No room for: {clean(', '.join(left_out))}. Choose with --columns; --csv has all.")
    if not everything:
        say("It has no runs.")
        return
    say(totals(everything, len(chosen)))
    failures = everything.failures_in_words()
    if failures:
        say(clean(failures))
        say(f"Run only those again: duckrow rerun --failed --sweep {shlex.quote(everything.handle)}")


def _print_sweeps(sweeps: list[dict[str, Any]], as_csv: bool, as_json: bool) -> int:
    if as_csv or as_json:
        _print_data(sweeps, [*_LISTED, "folder"], as_json)
    elif not sweeps:
        say(str(NoSweepYet()))
    else:
        header = [column.upper() for column in (*_LISTED[:-2], "when", "pattern")]
        print_table(
            header, [[*(str(sweep[column]) for column in _LISTED[:-2]), *_when_and_what(sweep)] for sweep in sweeps]
        )
    return EXIT_OK


def _when_and_what(sweep: dict[str, Any]) -> tuple[str, str]:
    return clock_text(sweep["created_at"]), shorten(sweep["pattern"], _PATTERN_WIDTH)


def _print_nothing(nothing: NoSweepYet, as_json: bool) -> int:
    if as_json:
        print_json([])
    say(str(nothing))
    return EXIT_OK
