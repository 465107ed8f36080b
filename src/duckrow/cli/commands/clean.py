"""`duckrow clean`: forget old jobs, and what ended runs have left."""

from __future__ import annotations

import click

from duckrow.api.jobs.clean import clean, left_by_runs, old_jobs
from duckrow.cli.console import say
from duckrow.cli.opening import client_of_verb
from duckrow.cli.options.option_values import TIME
from duckrow.core.errors import EXIT_OK, UsageError
from duckrow.core.units import format_duration, plural


@click.command(short_help="Forget old jobs.")
@click.option("--older-than", type=TIME, metavar="AGE", help="Done for longer than this: 12h, 7d, 4w.")
@click.option("--run", "run_name", metavar="NAME", help="Jobs that this run, which has ended, left in the queue.")
@click.option("--dry-run", is_flag=True, help="Only show how many.")
def command(older_than: float | None, run_name: str | None, dry_run: bool) -> int:
    """Forget old jobs, with their logs and folders.

    This includes queued jobs of a `duckrow run` that has ended: with --older-than, those that have waited that long;
    with --run, those of one run. Its finished jobs stay.

    \b
    duckrow clean --older-than 7d
    duckrow clean --older-than 0s --dry-run
    duckrow clean --run run-3
    """
    if (older_than is None) == (run_name is None):
        raise UsageError(
            "Say what to forget: --older-than 7d, or --run NAME. (`duckrow ls` names runs that left jobs.)"
        )
    client = client_of_verb()
    what = "would be removed" if dry_run else "removed"
    if run_name is not None:
        waiting = left_by_runs(client, run_name)
        found = waiting if dry_run else clean(client, waiting)
        say(f"duckrow: {plural(len(found), 'job')} left by {run_name} {what}.")
        return EXIT_OK
    assert older_than is not None
    left, old = set(left_by_runs(client)), old_jobs(client, older_than)
    found = old if dry_run else clean(client, old)
    waited = len(left.intersection(found))
    note = f", and {plural(waited, 'job')} left by runs that have ended," if waited else ""
    done = plural(len(found) - waited, "job")
    say(f"duckrow: {done} done for longer than {format_duration(older_than)}{note} {what}.")
    return EXIT_OK
