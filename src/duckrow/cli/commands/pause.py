"""`duckrow pause`: pauses the queue, a project or single jobs."""

from __future__ import annotations

import click

from duckrow.api.client import Client
from duckrow.api.jobs.pause import pause
from duckrow.api.jobs.pause_queue import pause_queue
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import say
from duckrow.cli.opening import client_of_verb
from duckrow.cli.views.changed_jobs import exit_code, of_changed, say_refused
from duckrow.core.errors import EXIT_OK, UsageError
from duckrow.core.life.failures import compact_ids
from duckrow.core.life.pausing import resume_command
from duckrow.core.units import plural


@click.command(short_help="Pause the queue, a project or single jobs.")
@click.argument("words", nargs=-1, metavar="[IDS]...", shell_complete=complete_jobs)
@click.option("--project", "-p", help="Only jobs of this project.")
@click.option("--stop-running", is_flag=True, help="Suspend running jobs too; they keep their GPU memory.")
def command(words: tuple[str, ...], project: str | None, stop_running: bool) -> int:
    """Start nothing more until `duckrow resume`. Running jobs keep running, unless you say --stop-running.

    With IDS: pause these jobs. A running job is suspended with all its processes, and its time limit stops running;
    a queued job is held.

    \b
    duckrow pause                      start nothing more
    duckrow pause --project thesis     of this project
    duckrow pause --stop-running       and suspend running jobs
    duckrow pause 12                   pause this job, running or queued
    """
    client = client_of_verb()
    if words:
        if project is not None or stop_running:
            raise UsageError("Give either the jobs to pause, or --project and --stop-running, not both.")
        return _pause_jobs(client, words)
    suspended = pause_queue(client, project, stop_running)
    if stop_running:
        say(f"duckrow: {plural(suspended, 'running job')} suspended. {_keeps(suspended)} GPU memory.")
    say(f"duckrow: {project or 'everything'} is paused. To continue: {resume_command(project or '')}")
    return EXIT_OK


def _pause_jobs(client: Client, words: tuple[str, ...]) -> int:
    paused = pause(client, client.select(words))
    say_refused(of_changed(paused))
    if paused.running:
        keeps = _keeps(len(paused.running))
        say(f"duckrow: {plural(len(paused.running), 'job')} suspended. {keeps} devices and GPU memory.")
    if paused.waiting:
        say(f"duckrow: {plural(len(paused.waiting), 'queued job')} held.")
    if paused.done:
        say(f"duckrow: to continue: duckrow resume {compact_ids(paused.done)}")
    return exit_code(of_changed(paused))


def _keeps(count: int) -> str:
    return "It keeps its" if count == 1 else "They keep their"
