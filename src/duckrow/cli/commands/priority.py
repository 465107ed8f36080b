"""`duckrow priority`: changes the priority of queued jobs."""

from __future__ import annotations

import click

from duckrow.api.jobs.order import prioritise
from duckrow.cli.completing import complete_jobs
from duckrow.cli.opening import client_of_verb
from duckrow.cli.views.changed_jobs import change_many, say_changed


@click.command(short_help="Change the priority of queued jobs.", context_settings={"ignore_unknown_options": True})
@click.argument("priority", type=int)
@click.argument("words", nargs=-1, required=True, metavar="IDS...", shell_complete=complete_jobs)
def command(priority: int, words: tuple[str, ...]) -> int:
    """Give queued jobs a priority: higher ones start first; 30 is the default.

    \b
    duckrow priority 50 12
    duckrow priority 10 100-200
    """
    client = client_of_verb()
    changed = change_many(client.select(words), lambda some: prioritise(client, some, priority))
    return say_changed(changed, f"given priority {priority}")
