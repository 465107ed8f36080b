"""`duckrow kill`: end jobs, with all their processes."""

from __future__ import annotations

import click

from duckrow.api.client import Client
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import say
from duckrow.core.errors import EXIT_OK, UsageError
from duckrow.core.lifecycle import State


@click.command(short_help="End jobs.")
@click.argument("words", nargs=-1, metavar="[IDS]...", shell_complete=complete_jobs)
@click.option(
    "--all", "-a", "kill_all", is_flag=True, help="All jobs that are not done, those of runs and on clusters too."
)
@click.option("--now", is_flag=True, help="SIGKILL at once, without SIGTERM and grace.")
def command(words: tuple[str, ...], kill_all: bool, now: bool) -> int:
    """End jobs: SIGTERM to all their processes, after a grace SIGKILL. A job that waits never starts.

    \b
    duckrow kill 12
    duckrow kill 10-20 train
    duckrow kill --now last
    """
    if bool(words) == kill_all:
        raise UsageError("Say which jobs to end: ids, names or --all.")
    client = Client()
    ids = client.select(words) if words else client.unfinished()[0]
    alive = [view.id for view in client.views(ids) if view.state != State.DONE]
    for job_id in ids:
        if words and job_id not in alive and len(ids) < 10:
            say(f"duckrow: job {job_id} is done already.")
    if alive:
        client.wish(alive, "kill-now" if now else "kill")
        client.await_wishes(alive)
    say(f"duckrow: {len(alive)} {'job' if len(alive) == 1 else 'jobs'} told to end.")
    return EXIT_OK
