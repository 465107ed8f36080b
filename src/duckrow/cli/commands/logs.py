"""`duckrow logs`: what jobs have printed, now or as they print it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

import click

from duckrow.api.client import Client
from duckrow.api.views import JobView
from duckrow.cli.console import paint, say
from duckrow.cli.log_tail import GrowingLines, GrowingLog, last_lines
from duckrow.cli.run_view import PREFIX_COLOURS
from duckrow.core.errors import EXIT_OK, UsageError
from duckrow.core.lifecycle import State

_LOOK_S = 0.1


@click.command(short_help="Print what jobs have printed.")
@click.argument("words", nargs=-1, metavar="[IDS]...")
@click.option("--follow", "-f", is_flag=True, help="Go on printing until the jobs are done.")
@click.option("--tail", "-t", type=click.IntRange(1), metavar="N", help="Only the last N lines.")
@click.option("--path", is_flag=True, help="Print where the logs are instead.")
def command(words: tuple[str, ...], follow: bool, tail: int | None, path: bool) -> int:
    """Print the output of jobs (by default of the last one); of several jobs, each line behind its job.

    \b
    duckrow logs 12             all of it
    duckrow logs -f last        as it comes
    duckrow logs -t 20 10-14    the last lines of each
    """
    client = Client()
    views = client.views(client.select(words or ("last",)))
    if path:
        for view in views:
            print(view.log or "")
        return EXIT_OK
    if follow:
        _follow(client, [view.id for view in views], prefixed=len(views) > 1)
        return EXIT_OK
    for view in views:
        _print_log(view, tail, prefixed=len(views) > 1)
    return EXIT_OK


def _print_log(view: JobView, tail: int | None, prefixed: bool) -> None:
    if view.log is None:
        say(f"duckrow: job {view.id} has not begun, so it has printed nothing.")
        return
    if not view.log:
        return  # it has printed nothing
    if not os.path.exists(view.log):
        say(f"duckrow: job {view.id} has no log: its output went to the terminal, or {view.log} was removed.")
        return
    if tail is None and not prefixed:
        sys.stdout.flush()
        for data in GrowingLog(view.log).more():
            sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    lines = GrowingLines(view.log).more(final=True) if tail is None else last_lines(view.log, tail, blank=True)
    _print_lines(view, lines, prefixed)


def _print_lines(view: JobView, lines: Sequence[str], prefixed: bool) -> None:
    prefix = ""
    if prefixed:
        prefix = paint(f"[{view.id} {view.name}] ", PREFIX_COLOURS[view.id % len(PREFIX_COLOURS)], sys.stdout)
    for line in lines:
        print(f"{prefix}{line}")


def _follow(client: Client, ids: list[int], prefixed: bool) -> None:
    """Until all are done; a job that is tried again is followed into its next log."""
    if not ids:
        raise UsageError("There is no job to follow.")
    logs: dict[tuple[int, str], GrowingLines] = {}
    while True:
        views = client.views(ids)
        for view in views:
            if view.log:
                log = logs.setdefault((view.id, view.log), GrowingLines(view.log))
                _print_lines(view, log.more(final=view.state == State.DONE), prefixed)
        sys.stdout.flush()
        if all(view.state == State.DONE for view in views):
            return
        time.sleep(_LOOK_S)
