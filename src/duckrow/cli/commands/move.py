"""`duckrow move`: the order of queued jobs within a priority."""

from __future__ import annotations

import click

from duckrow.api.jobs.order import move_before, move_first, move_last
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import say
from duckrow.cli.opening import client_of_verb
from duckrow.core.errors import EXIT_OK, ConflictError, UsageError
from duckrow.core.units import plural

_NAMED = 10


@click.command(short_help="Change the order of queued jobs.")
@click.argument("words", nargs=-1, required=True, metavar="IDS...", shell_complete=complete_jobs)
@click.option("--before", metavar="ID", help="Right before this job, with its priority.")
@click.option("--first", is_flag=True, help="To the front of its priority.")
@click.option("--last", is_flag=True, help="To the back of its priority.")
def command(words: tuple[str, ...], before: str | None, first: bool, last: bool) -> int:
    """Change the order of queued jobs. Several jobs keep their order among themselves.

    \b
    duckrow move 12 --first
    duckrow move 12 --before 7
    """
    if (before is not None) + first + last != 1:
        raise UsageError("Say where to: --before ID, --first or --last.")
    client = client_of_verb()
    ids = client.select(words)
    if before is not None:
        moved = move_before(client, ids, _one(client.select([before]), before))
    else:
        moved = move_first(client, ids) if first else move_last(client, ids)
    if moved.refused:
        why = moved.refused[0].why.rstrip(".")
        raise ConflictError(f"{why[0].upper()}{why[1:]}.")
    named = ", ".join(map(str, ids)) if len(ids) <= _NAMED else plural(len(ids), "job")
    say(f"duckrow: {named} moved.")
    return EXIT_OK


def _one(ids: list[int], word: str) -> int:
    if len(ids) != 1:
        raise UsageError(f"'{word}' names {len(ids)} jobs; --before needs one.")
    return ids[0]
