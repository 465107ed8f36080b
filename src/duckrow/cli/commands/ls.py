"""`duckrow ls`: the jobs and what is to be shown of them."""

from __future__ import annotations

from typing import Any

import click

from duckrow.api.queue.listing import COLUMNS
from duckrow.cli.completing import complete_jobs
from duckrow.cli.options.option_values import TIME
from duckrow.cli.views.job_list import ListOptions, list_jobs

_WATCH_S = "2"


@click.command(short_help="List jobs.")
@click.argument("words", nargs=-1, metavar="[IDS]...", shell_complete=complete_jobs)
@click.option(
    "--state",
    "-s",
    "states",
    multiple=True,
    help="Only jobs in these states or with these outcomes; or held, or suspended.",
)
@click.option("--outcome", "outcomes", multiple=True, help="Only jobs with these outcomes.")
@click.option("--failed", is_flag=True, help="Only finished jobs that did not succeed.")
@click.option("--project", "-p", help="Only jobs of this project.")
@click.option("--name", "-n", metavar="PATTERN", help="Only jobs with this name: train, 'train-*'.")
@click.option("--sweep", metavar="NAME", help="Only the runs of this sweep.")
@click.option("--since", type=TIME, metavar="AGE", help="Only those added within this time (90s, 2h, 7d).")
@click.option("--older-than", type=TIME, metavar="AGE", help="Only those added longer ago than this.")
@click.option("--limit", "-l", type=click.IntRange(1), metavar="N", help="Show N jobs instead of a screenful.")
@click.option("--page", type=click.IntRange(1), default=1, metavar="N", help="Show page N.")
@click.option("--all", "-a", "show_all", is_flag=True, help="Show all of them.")
@click.option("--columns", "-c", metavar="NAMES", help=f"What to show: {', '.join(COLUMNS)}.")
@click.option("--sort", metavar="COLUMN", help="Sort by a column; -COLUMN reverses the order.")
@click.option(
    "--watch", "-w", type=TIME, is_flag=False, flag_value=_WATCH_S, metavar="[N]",
    help=f"Refresh every N seconds (default {_WATCH_S}).",
)  # fmt: skip
@click.option("--tree", is_flag=True, help="Show each job below the one that it waits for (--after).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md describes it).")
def command(words: tuple[str, ...], **options: Any) -> int:
    """List running and queued jobs, and the last finished ones. In a terminal, as many as fit on the screen; else all.

    Jobs of an interrupted `duckrow run` are counted in one line. --all and filters list them.

    \b
    duckrow ls                                the newest
    duckrow ls 10-12,15 last                  these
    duckrow ls --failed --since 1d            what went wrong today
    duckrow ls -s running,queued -n 'fit-*'   by state and name
    duckrow ls --sort -time -c id,time,log    the longest first
    duckrow ls --watch                        until Ctrl-C
    duckrow ls --json | jq                    for programs
    """
    return list_jobs(words, ListOptions(**options))
