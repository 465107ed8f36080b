"""`duckrow resume`: go on after a pause."""

from __future__ import annotations

import click

from duckrow.api.client import Client
from duckrow.cli.console import say
from duckrow.core.errors import EXIT_OK


@click.command(short_help="Go on after a pause.")
@click.option("--project", "-p", help="Only this project.")
def command(project: str | None) -> int:
    """Start jobs again after `duckrow pause`. A project that was paused by itself stays paused.

    \b
    duckrow resume
    duckrow resume --project thesis
    """
    client = Client()
    client.unpause(project)
    left = client.jobs.pauses()
    note = f"; still paused: {', '.join(name or 'everything' for name in left)}" if left else ""
    say(f"duckrow: {project or 'everything'} goes on{note}.")
    return EXIT_OK
