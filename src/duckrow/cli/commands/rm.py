"""`duckrow rm`: forget queued or finished jobs."""

from __future__ import annotations

import click

from duckrow.api.jobs.remove import remove
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import say
from duckrow.cli.opening import client_of_verb
from duckrow.core.errors import EXIT_FAILED, EXIT_OK
from duckrow.core.units import plural


@click.command(short_help="Forget queued or finished jobs.")
@click.argument("words", nargs=-1, required=True, metavar="IDS...", shell_complete=complete_jobs)
def command(words: tuple[str, ...]) -> int:
    """Forget queued or finished jobs, with their logs and folders. Kill running jobs first.

    \b
    duckrow rm 12
    duckrow rm 10-20
    """
    client = client_of_verb()
    removed = remove(client, client.select(words))
    for refused in removed.refused[:10]:
        say(f"duckrow: {refused.why.rstrip('.')}.")
    say(f"duckrow: {plural(len(removed.done), 'job')} removed.")
    return EXIT_FAILED if removed.refused else EXIT_OK
