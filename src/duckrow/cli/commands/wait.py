"""`duckrow wait`: until jobs are done; its exit code says whether they succeeded."""

from __future__ import annotations

import click

from duckrow.api.client import Client
from duckrow.api.jobs.wait import wait
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import clean, say, tell
from duckrow.cli.opening import client_of_verb
from duckrow.cli.options.option_values import TIME
from duckrow.core.errors import EXIT_FAILED, EXIT_OK, UsageError
from duckrow.core.jobs.job import shorten
from duckrow.core.life.states import Outcome
from duckrow.core.units import plural

_NAMED = 10


@click.command(short_help="Wait until jobs are done.")
@click.argument("words", nargs=-1, metavar="[IDS]...", shell_complete=complete_jobs)
@click.option(
    "--all", "-a", "wait_all", is_flag=True, help="All jobs that are not done, including those of runs and on clusters."
)
@click.option("--timeout", type=TIME, help="Wait at most this long; then exit with code 124.")
def command(words: tuple[str, ...], wait_all: bool, timeout: float | None) -> int:
    """Wait until jobs are done. The exit code is 0 if all of them succeeded, else 1.

    \b
    duckrow wait 12 && echo trained
    duckrow wait --all
    """
    if bool(words) == wait_all:
        raise UsageError("Say which jobs to wait for: ids, names or --all.")
    client = client_of_verb()
    ids = client.select(words, whole_array=True) if words else _all(client)
    failed = [view for view in wait(client, ids, timeout, tell=tell) if view.outcome != Outcome.SUCCEEDED]
    for view in failed[:_NAMED]:
        say(f"duckrow: {view.words} {view.outcome}: {clean(shorten(view.title))}")
    if len(failed) > _NAMED:
        say(f"duckrow: and {len(failed) - _NAMED} more (duckrow ls --state failed).")
    return EXIT_FAILED if failed else EXIT_OK


def _all(client: Client) -> list[int]:
    """All jobs that will start; those of an ended run may never do so."""
    ids, stranded = client.unfinished()
    if stranded:
        from duckrow.api.queue.listing import ended_runs
        from duckrow.cli.views.obstacles import left_by_runs

        say(f"duckrow: not waiting for {plural(len(stranded), 'job')} of a run that has ended.")
        for line in left_by_runs(ended_runs(client)):
            say(f"duckrow: {line}")
    left_out = set(stranded)
    return [job_id for job_id in ids if job_id not in left_out]
