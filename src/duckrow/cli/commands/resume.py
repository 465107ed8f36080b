"""`duckrow resume`: continue after a pause."""

from __future__ import annotations

import click

from duckrow.api.client import Client
from duckrow.api.jobs.pause import resume
from duckrow.api.jobs.pause_queue import resume_queue
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import say
from duckrow.cli.opening import client_of_verb
from duckrow.cli.views.changed_jobs import exit_code, of_changed, say_refused
from duckrow.cli.views.obstacles import say_if_nobody_starts
from duckrow.core.errors import EXIT_OK, UsageError
from duckrow.core.life.failures import compact_ids
from duckrow.core.units import plural


@click.command(short_help="Continue after a pause.")
@click.argument("words", nargs=-1, metavar="[IDS]...", shell_complete=complete_jobs)
@click.option("--project", "-p", help="Only this project.")
def command(words: tuple[str, ...], project: str | None) -> int:
    """Start jobs again after `duckrow pause`. A project or job that you paused separately stays paused.

    With IDS: continue these paused or held jobs.

    \b
    duckrow resume
    duckrow resume --project thesis
    duckrow resume 12
    """
    client = client_of_verb()
    if words:
        if project is not None:
            raise UsageError("Give either the jobs to resume, or --project, not both.")
        return _resume_jobs(client, words)
    left = resume_queue(client, project)
    note = f"; still paused: {', '.join(name or 'everything' for name in left.projects)}" if left.projects else ""
    say(f"duckrow: {project or 'everything'} continues{note}.")
    if left.jobs:
        stay = "stays" if len(left.jobs) == 1 else "stay"
        say(f"duckrow: {plural(len(left.jobs), 'job')} {stay} paused: duckrow resume {compact_ids(left.jobs)}")
    say_if_nobody_starts(client)
    return EXIT_OK


def _resume_jobs(client: Client, words: tuple[str, ...]) -> int:
    resumed = resume(client, client.select(words))
    say_refused(of_changed(resumed))
    if resumed.running:
        say(f"duckrow: {plural(len(resumed.running), 'job')} running again.")
    if resumed.waiting:
        say(f"duckrow: {plural(len(resumed.waiting), 'queued job')} released.")
        say_if_nobody_starts(client)
    return exit_code(of_changed(resumed))
