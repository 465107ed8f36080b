"""`duckrow kill`: stop jobs, with all their processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from duckrow.api.jobs.changed import Changed
from duckrow.api.jobs.kill import kill
from duckrow.api.jobs.send_signal import send_signal
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import say
from duckrow.cli.opening import client_of_verb
from duckrow.cli.views.changed_jobs import NAMED, exit_code
from duckrow.core.errors import EXIT_OK, UsageError
from duckrow.core.life.states import State


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
    changed = kill(client, ids, at_once=now) if signal_name is None else send_signal(client, ids, signal_name)
    if words:
        _say_done([job.words for job in changed.jobs if job.state == State.DONE])
    if signal_name is not None:
        _say_sent(changed, signal_name)
        return exit_code(changed)
    if changed.done:
        say(f"duckrow: stopping {_named(changed.done)}.")
    elif not words:
        say("duckrow: there is no job to stop.")
    return EXIT_OK


def _say_done(jobs: list[str]) -> None:
    for job in jobs[:NAMED]:
        say(f"duckrow: {job} is already done.")
    if len(jobs) > NAMED:
        say(f"duckrow: and {len(jobs) - NAMED} more are already done.")


def _say_sent(changed: Changed[Any], name: str) -> None:
    for job in [job for job in changed.jobs if job.state == State.QUEUED][:NAMED]:
        say(f"duckrow: {job.words} is queued: it has no process to signal.")
    if changed.done:
        say(f"duckrow: {name} sent to {_named(changed.done)}.")
    elif not changed.jobs:
        say("duckrow: there is no job to signal.")


def _named(ids: Sequence[int]) -> str:
    return f"job {ids[0]}" if len(ids) == 1 else f"{len(ids)} jobs"
