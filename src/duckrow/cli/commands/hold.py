"""`duckrow hold`: queued jobs do not start until they are released."""

from __future__ import annotations

import click

from duckrow.api.jobs.hold import hold
from duckrow.cli.completing import complete_jobs
from duckrow.cli.opening import client_of_verb
from duckrow.cli.views.changed_jobs import change_many, say_changed


@click.command(short_help="Keep queued jobs from starting.")
@click.argument("words", nargs=-1, required=True, metavar="IDS...", shell_complete=complete_jobs)
def command(words: tuple[str, ...]) -> int:
    """Keep queued jobs from starting until `duckrow release`. Running jobs are not affected.

    To suspend a running job: `duckrow pause`.

    \b
    duckrow hold 12
    duckrow hold 10-20 train
    """
    client = client_of_verb()
    return say_changed(change_many(client.select(words), lambda some: hold(client, some)), "held")
