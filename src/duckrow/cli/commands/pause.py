"""`duckrow pause`: nothing more is started; what runs goes on."""

from __future__ import annotations

import click

from duckrow.api.client import Client
from duckrow.cli.console import say
from duckrow.core.errors import EXIT_OK
from duckrow.core.units import plural


@click.command(short_help="Start nothing more.")
@click.option("--project", "-p", help="Only of this project.")
@click.option("--stop-running", is_flag=True, help="Suspend running jobs too; their GPU memory stays taken.")
def command(project: str | None, stop_running: bool) -> int:
    """Start nothing more, until `duckrow resume`. Running jobs go on, or are suspended if asked.

    \b
    duckrow pause
    duckrow pause --project thesis
    duckrow pause --stop-running
    """
    client = Client()
    client.pause(project)
    if stop_running:
        suspended = client.suspend(project)
        say(f"duckrow: {plural(suspended, 'running job')} suspended; what they hold of GPU memory stays taken.")
    say(f"duckrow: {project or 'everything'} is paused. `duckrow resume` goes on.")
    return EXIT_OK
