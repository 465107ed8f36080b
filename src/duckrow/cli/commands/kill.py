"""`duckrow kill`: stop jobs, with all their processes."""

from __future__ import annotations

from collections.abc import Sequence

import click

from duckrow.api.client import Client
from duckrow.api.jobs.kill import in_order_of_kills, kill
from duckrow.api.jobs.send_signal import send_signal
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import say
from duckrow.cli.opening import client_of_verb
from duckrow.cli.views.changed_jobs import ManyChanged, change_many, exit_code, say_refused
from duckrow.core.errors import EXIT_OK, UsageError


@click.command(short_help="Stop jobs.")
@click.argument("words", nargs=-1, metavar="[IDS]...", shell_complete=complete_jobs)
@click.option(
    "--all", "-a", "kill_all", is_flag=True, help="All jobs that are not done, including those of runs and on clusters."
)
@click.option("--now", is_flag=True, help="Send SIGKILL at once, without SIGTERM and grace time.")
@click.option(
    "--signal", "-s", "signal_name", metavar="NAME", help="Only send this signal (USR1, INT, 10); do not stop the job."
)
def command(words: tuple[str, ...], kill_all: bool, now: bool, signal_name: str | None) -> int:
    """Stop jobs: SIGTERM to all their processes, then SIGKILL after a grace time. Queued jobs never start.

    \b
    duckrow kill 12
    duckrow kill 10-20 train
    duckrow kill --now last
    duckrow kill --signal USR1 12       to its processes that handle it, for example for a checkpoint
    """
    if bool(words) == kill_all:
        raise UsageError("Say which jobs to stop: ids, names or --all.")
    if now and signal_name is not None:
        raise UsageError("Either --now or --signal, not both.")
    client = client_of_verb()
    client.tender.copy()
    ids = client.select(words) if words else client.unfinished()[0]
    return _kill(client, ids, now, words) if signal_name is None else _signal(client, ids, signal_name)


def _kill(client: Client, ids: Sequence[int], now: bool, words: Sequence[str]) -> int:
    """A job that is already done needs no stopping: that is not a failure."""
    in_order = in_order_of_kills(client, ids)
    changed = change_many(in_order, lambda some: kill(client, some, at_once=now, answered=False))
    if words:
        say_refused(changed)
    if changed.done:
        client.await_wishes(ids)
        say(f"duckrow: stopping {_named(changed)}.")
    elif not words:
        say("duckrow: there is no job to stop.")
    return EXIT_OK


def _signal(client: Client, ids: Sequence[int], name: str) -> int:
    changed = change_many(ids, lambda some: send_signal(client, some, name))
    say_refused(changed)
    if changed.done:
        say(f"duckrow: {name} sent to {_named(changed)}.")
    elif not changed.refused:
        say("duckrow: there is no job to signal.")
    return exit_code(changed)


def _named(changed: ManyChanged) -> str:
    return f"job {changed.first_done[0]}" if changed.done == 1 else f"{changed.done} jobs"
