"""`duckrow pause`: nothing more is started; what runs goes on."""

from __future__ import annotations

import click

from duckrow.api.client import Client
from duckrow.cli.console import say
from duckrow.core.errors import EXIT_OK


@click.command(short_help="Start nothing more.")
@click.option("--project", "-p", help="Only of this project.")
def command(project: str | None) -> int:
    """Start nothing more, until `duckrow resume`. Running jobs go on.

    \b
    duckrow pause
    duckrow pause --project thesis
    """
    Client().pause(project)
    say(f"duckrow: {project or 'everything'} is paused; running jobs go on. `duckrow resume` goes on.")
    return EXIT_OK
