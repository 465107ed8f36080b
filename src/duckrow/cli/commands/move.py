"""`duckrow move`: the order of waiting jobs within a priority."""

from __future__ import annotations

import click

from duckrow.api.control import Control
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import say
from duckrow.core.errors import EXIT_OK, UsageError


@click.command(short_help="Change the order of waiting jobs.")
@click.argument("words", nargs=-1, required=True, metavar="IDS...", shell_complete=complete_jobs)
@click.option("--before", metavar="ID", help="Right before this job, with its priority.")
@click.option("--first", is_flag=True, help="To the front of its priority.")
@click.option("--last", is_flag=True, help="To the back of its priority.")
def command(words: tuple[str, ...], before: str | None, first: bool, last: bool) -> int:
    """Change the order of jobs that wait. Several keep their order among themselves.

    \b
    duckrow move 12 --first
    duckrow move 12 --before 7
    """
    if (before is not None) + first + last != 1:
        raise UsageError("Say where to: --before ID, --first or --last.")
    control = Control()
    ids = control.client.select(words)
    target = None if before is None else _one(control.client.select([before]), before)
    for job_id in reversed(ids) if first else ids:
        control.move(job_id, target, first)
    say(f"duckrow: {', '.join(map(str, ids))} moved.")
    return EXIT_OK


def _one(ids: list[int], word: str) -> int:
    if len(ids) != 1:
        raise UsageError(f"'{word}' names {len(ids)} jobs; --before needs one.")
    return ids[0]
