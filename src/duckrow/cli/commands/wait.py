"""`duckrow wait`: until jobs are done; its exit code tells whether they succeeded."""

from __future__ import annotations

import click

from duckrow.api.client import Client
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import clean, say, tell
from duckrow.cli.job_options import TIME
from duckrow.core.errors import EXIT_FAILED, EXIT_OK, UsageError
from duckrow.core.job import shorten
from duckrow.core.lifecycle import Outcome

_NAMED = 10


@click.command(short_help="Wait until jobs are done.")
@click.argument("words", nargs=-1, metavar="[IDS]...", shell_complete=complete_jobs)
@click.option("--all", "-a", "wait_all", is_flag=True, help="All jobs of the daemon that are not done.")
@click.option("--timeout", type=TIME, help="Wait at most so long; exit code 124 if that was not enough.")
def command(words: tuple[str, ...], wait_all: bool, timeout: float | None) -> int:
    """Wait until jobs are done. The exit code is 0 if all of them succeeded, else 1.

    \b
    duckrow wait 12 && echo trained
    duckrow wait --all
    """
    if bool(words) == wait_all:
        raise UsageError("Say which jobs to wait for: ids, names or --all.")
    client = Client()
    ids = client.select(words) if words else client.unfinished()
    failed = [view for view in client.wait(ids, timeout, tell=tell) if view.outcome != Outcome.SUCCEEDED]
    for view in failed[:_NAMED]:
        say(f"duckrow: job {view.id} {view.outcome}: {clean(shorten(view.command))}")
    if len(failed) > _NAMED:
        say(f"duckrow: and {len(failed) - _NAMED} more (duckrow ls --state failed).")
    return EXIT_FAILED if failed else EXIT_OK
