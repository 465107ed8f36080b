"""`duckrow clean`: forget what has been done for long."""

from __future__ import annotations

import click

from duckrow.api.control import Control
from duckrow.cli.console import say
from duckrow.cli.job_options import TIME
from duckrow.core.errors import EXIT_OK
from duckrow.core.units import format_duration, plural


@click.command(short_help="Forget jobs that have been done for long.")
@click.option("--older-than", type=TIME, required=True, help="Done for longer than this: 12h, 7d, 4w.")
@click.option("--dry-run", is_flag=True, help="Only say how many.")
def command(older_than: float, dry_run: bool) -> int:
    """Forget jobs that have been done for long, with their logs and folders.

    \b
    duckrow clean --older-than 7d
    duckrow clean --older-than 0s --dry-run
    """
    control = Control()
    found = control.old(older_than) if dry_run else control.clean(older_than)
    what = "would be removed" if dry_run else "removed"
    say(f"duckrow: {plural(len(found), 'job')} done for longer than {format_duration(older_than)} {what}.")
    return EXIT_OK
