"""`duckrow kill`: end jobs, with all their processes."""

from __future__ import annotations

from collections.abc import Sequence

import click

from duckrow.api.client import Client
from duckrow.api.job_values import parse_signal
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import say
from duckrow.core.errors import EXIT_OK, UsageError
from duckrow.core.lifecycle import State
from duckrow.core.units import plural


@click.command(short_help="End jobs.")
@click.argument("words", nargs=-1, metavar="[IDS]...", shell_complete=complete_jobs)
@click.option(
    "--all", "-a", "kill_all", is_flag=True, help="All jobs that are not done, those of runs and on clusters too."
)
@click.option("--now", is_flag=True, help="SIGKILL at once, without SIGTERM and grace.")
@click.option(
    "--signal", "-s", "signal_name", metavar="NAME", help="Only send this signal (USR1, INT, 10): the job goes on."
)
def command(words: tuple[str, ...], kill_all: bool, now: bool, signal_name: str | None) -> int:
    """End jobs: SIGTERM to all their processes, after a grace SIGKILL. A job that waits never starts.

    \b
    duckrow kill 12
    duckrow kill 10-20 train
    duckrow kill --now last
    duckrow kill --signal USR1 12       to those of its processes that listen to it, as for a checkpoint
    """
    if bool(words) == kill_all:
        raise UsageError("Say which jobs to end: ids, names or --all.")
    if now and signal_name is not None:
        raise UsageError("Either --now or --signal, not both.")
    client = Client()
    client.tender.copy()
    ids = client.select(words) if words else client.unfinished()[0]
    views = client.views(ids)
    alive = [view.id for view in views if view.state != State.DONE]
    for view in views:
        if words and view.state == State.DONE and len(ids) < 10:
            say(f"duckrow: {view.words} is done already.")
    if signal_name is not None:
        return _signal(client, alive, signal_name)
    if alive:
        client.wish(alive, "kill-now" if now else "kill")
        client.await_wishes(alive)
    say(f"duckrow: {len(alive)} {'job' if len(alive) == 1 else 'jobs'} told to end.")
    return EXIT_OK


def _signal(client: Client, ids: Sequence[int], name: str) -> int:
    """To all processes of those that run; one that waits has none."""
    number = parse_signal(name, "USR1, INT, HUP or a number")
    views = client.views(ids)
    running = [view.id for view in views if view.state != State.QUEUED]
    for view in [view for view in views if view.state == State.QUEUED][:10]:
        say(f"duckrow: {view.words} waits: it has no process to signal.")
    on_clusters = client.on_clusters(running)
    if on_clusters:
        raise UsageError(f"Job {on_clusters[0]} runs on a cluster: scancel --signal={name} sends a signal there.")
    if running:
        client.wish(running, f"signal:{number}")
        client.await_wishes(running)
    say(f"duckrow: {name} sent to {plural(len(running), 'job')}.")
    return EXIT_OK
