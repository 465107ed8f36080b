"""`duckrow rm`: forget jobs that wait or are done."""

from __future__ import annotations

import click

from duckrow.api.control import Control
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import say
from duckrow.core.errors import EXIT_FAILED, EXIT_OK
from duckrow.core.units import plural


@click.command(short_help="Forget jobs that wait or are done.")
@click.argument("words", nargs=-1, required=True, metavar="IDS...", shell_complete=complete_jobs)
def command(words: tuple[str, ...]) -> int:
    """Forget jobs that wait or are done, with their logs and folders. A running job must be killed first.

    \b
    duckrow rm 12
    duckrow rm 10-20
    """
    control = Control()
    ids = control.client.select(words)
    removed = control.remove(ids)
    kept = [job_id for job_id in ids if job_id not in set(removed)]
    for job_id in kept[:10]:
        say(f"duckrow: {control.why_not_removed(job_id)}.")
    say(f"duckrow: {plural(len(removed), 'job')} removed.")
    return EXIT_FAILED if kept else EXIT_OK
