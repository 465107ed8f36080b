"""`duckrow release`: lets held jobs start."""

from __future__ import annotations

import click

from duckrow.api.jobs.hold import release
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import say_notes
from duckrow.cli.opening import client_of_verb
from duckrow.cli.views.changed_jobs import change_many, say_changed
from duckrow.cli.views.obstacles import say_if_nobody_starts
from duckrow.core.errors import EXIT_OK


@click.command(short_help="Let held jobs start.")
@click.argument("words", nargs=-1, required=True, metavar="IDS...", shell_complete=complete_jobs)
def command(words: tuple[str, ...]) -> int:
    """Let held jobs start.

    \b
    duckrow release 12
    duckrow release 10-20
    """
    client = client_of_verb()
    code = say_changed(change_many(client.select(words), lambda some: release(client, some)), "released")
    if code == EXIT_OK:
        say_if_nobody_starts(client)
    say_notes(client.tender.notes())
    return code
