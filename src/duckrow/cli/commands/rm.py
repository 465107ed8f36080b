"""`duckrow rm`: forget queued or finished jobs."""

from __future__ import annotations

import click

from duckrow.api.jobs.remove import remove
from duckrow.cli.completing import complete_jobs
from duckrow.cli.opening import client_of_verb
from duckrow.cli.views.changed_jobs import of_changed, say_changed


@click.command(short_help="Forget queued or finished jobs.")
@click.argument("words", nargs=-1, required=True, metavar="IDS...", shell_complete=complete_jobs)
def command(words: tuple[str, ...]) -> int:
    """Forget queued or finished jobs, with their logs and folders. Kill running jobs first.

    \b
    duckrow rm 12
    duckrow rm 10-20
    """
    client = client_of_verb()
    return say_changed(of_changed(remove(client, client.select(words))), "removed")
