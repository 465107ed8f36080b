"""`duckrow ls`: the jobs, active ones last, so that they stand above the prompt."""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import click
from click.core import ParameterSource

from duckrow.api.client import Client
from duckrow.api.listing import COLUMNS, OUTCOMES, SHOWN, STATES, Filter, listing, parse_words, tally
from duckrow.api.sweep_list import find_sweep
from duckrow.api.views import JobView
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import print_json, say, terminal_height
from duckrow.cli.job_options import TIME
from duckrow.cli.job_table import job_lines
from duckrow.cli.obstacles import obstacles
from duckrow.core.errors import EXIT_OK, UsageError

_WATCH_S = "2"
_TOTALS_LINES = 4  # what a watched table leaves free below it


@click.command(short_help="List jobs.")
@click.argument("words", nargs=-1, metavar="[IDS]...", shell_complete=complete_jobs)
@click.option("--state", "-s", "states", multiple=True, help="Only in these states, or with these outcomes.")
@click.option("--outcome", "outcomes", multiple=True, help="Only with these outcomes.")
@click.option("--failed", is_flag=True, help="Only those that are done and did not succeed.")
@click.option("--project", "-p", help="Only of this project.")
@click.option("--name", "-n", metavar="PATTERN", help="Only with such a name: train, 'train-*'.")
@click.option("--sweep", metavar="NAME", help="Only the runs of this sweep.")
@click.option("--since", type=TIME, metavar="AGE", help="Only those added within this time (90s, 2h, 7d).")
@click.option("--older-than", type=TIME, metavar="AGE", help="Only those added longer ago.")
@click.option("--limit", "-l", type=click.IntRange(1), default=SHOWN, show_default=True, help="How many to show.")
@click.option("--page", type=click.IntRange(1), default=1, help="Show the second so many, the third, ...")
@click.option("--all", "-a", "show_all", is_flag=True, help="Show all of them.")
@click.option("--columns", "-c", metavar="NAMES", help=f"What to show: {', '.join(COLUMNS)}.")
@click.option("--sort", metavar="COLUMN", help="Sort by a column; -COLUMN downwards.")
@click.option(
    "--watch", "-w", type=TIME, is_flag=False, flag_value=_WATCH_S, metavar="[SECONDS]",
    help=f"Draw it anew every so many seconds ({_WATCH_S}).",
)  # fmt: skip
@click.option("--tree", is_flag=True, help="Each job below the one that it waits for (--after).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md describes it).")
def command(words: tuple[str, ...], watch: float | None, tree: bool, as_json: bool, **options: Any) -> int:
    """List jobs: those that run or wait, and the last that are done.

    \b
    duckrow ls                                the newest
    duckrow ls 10-12,15 last                  these
    duckrow ls --failed --since 1d            what went wrong today
    duckrow ls -s running,queued -n 'fit-*'   by state and name
    duckrow ls --sort -time -c id,time,log    the longest first
    duckrow ls --watch                        until Ctrl-C
    duckrow ls --json | jq                    for programs
    """
    limit_is_typed = click.get_current_context().get_parameter_source("limit") != ParameterSource.DEFAULT
    if options["show_all"] or (words and not limit_is_typed):
        options["limit"] = -1
    request = _Request(Client(), words, options, tree)
    if watch is not None:
        if as_json:
            raise UsageError("--watch draws a table again and again, --json prints once. Leave one of them out.")
        if not sys.stdout.isatty():
            raise UsageError("--watch draws in a terminal, and this is none. Leave it out, or use `duckrow wait`.")
        request.watch(max(watch, 0.1))
    views = request.views()
    if as_json:
        print_json([view.as_json() for view in views])
        return EXIT_OK
    lines = request.lines(views)
    if lines:
        print("\n".join(lines))
    if not (words and views):
        say(request.totals(len(views)))
    return EXIT_OK


class _Request:
    """What was asked for, to be answered once or again and again."""

    def __init__(self, client: Client, words: tuple[str, ...], options: dict[str, Any], tree: bool) -> None:
        self._client = client
        self._tree = tree
        statuses = parse_words("state", options["states"], [*STATES, *OUTCOMES])
        self._filter = Filter(
            statuses=statuses + parse_words("outcome", options["outcomes"], OUTCOMES),
            project=options["project"],
            name=options["name"],
            since_s=options["since"],
            older_than_s=options["older_than"],
            failed=options["failed"],
            ids=client.select(words) if words else None,
            sweep_id=None if options["sweep"] is None else find_sweep(client, options["sweep"]).id,
        )
        self.columns = parse_words("column", [options["columns"] or ""], list(COLUMNS))
        self._sort = _checked_sort(options["sort"]) if options["sort"] is not None else "id" if words else None
        self._limit = options["limit"]  # -1: all
        self._page = options["page"]

    def views(self) -> list[JobView]:
        self._client.tender.copy()
        return listing(self._client, self._filter, self._limit, self._page, self._sort)

    def lines(self, views: list[JobView]) -> list[str]:
        if self._tree:
            from duckrow.api.control import Control
            from duckrow.cli.tree import as_tree

            views = as_tree(views, Control().dependencies())
        return job_lines(views, self.columns) if views else []

    def totals(self, shown: int) -> str:
        """How many there are, and what keeps them from running, if something does."""
        counts = tally(self._client, self._filter)
        self._client.tender.look()
        total = sum(counts.values())
        if not counts:
            everything = sum(tally(self._client, Filter()).values())
            if not everything:
                return "No jobs yet. Add one: duckrow submit -- python train.py"
            return f"No such job, among {everything}. `duckrow ls --all` shows them."
        listed = ", ".join(f"{count} {status}" for status, count in counts.items())
        sentence = f"{listed}{obstacles(self._client, 'queued' in counts)}."
        if not shown and self._page > 1:
            sentence += f" There is no page {self._page}; the last is {math.ceil(total / self._limit)}."
        elif 0 < self._limit * self._page < total:
            sentence += f" {shown} of {total} shown; more: --page {self._page + 1}, or --all."
        return sentence

    def watch(self, every_s: float) -> None:
        """Draw over what was drawn, until somebody ends it by Ctrl-C."""
        asked = self._limit
        sys.stdout.write("\x1b[2J")
        while True:
            most = max(terminal_height() - _TOTALS_LINES, 1)  # each time: somebody may have made it smaller
            self._limit = most if asked < 0 else min(asked, most)
            views = self.views()
            lines = [*self.lines(views), self.totals(len(views))]
            sys.stdout.write("\x1b[H" + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")
            sys.stdout.flush()
            time.sleep(every_s)


def _checked_sort(text: str) -> str:
    """A column; with a minus in front downwards."""
    down, name = "-" * text.startswith("-"), text.removeprefix("-")
    if "," in name or not name:
        raise UsageError(f"--sort takes one column, with or without a minus in front: not '{text}'.")
    return down + parse_words("column", [name], list(COLUMNS))[0]
