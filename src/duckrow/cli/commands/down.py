"""`duckrow down`: stops the daemon."""

from __future__ import annotations

import click

from duckrow.api.machine.web_process import end_beside_daemon
from duckrow.cli.console import say
from duckrow.cli.opening import client_of_verb
from duckrow.core.errors import EXIT_OK
from duckrow.core.units import plural


@click.command(short_help="Stop the daemon; running jobs keep running.")
@click.option("--kill", "kill_jobs", is_flag=True, help="Stop the running jobs too.")
def command(kill_jobs: bool) -> int:
    """Stop the daemon. Running jobs keep running; queued jobs stay queued until it is up again.

    \b
    duckrow down
    duckrow down --kill
    """
    client = client_of_verb()
    if end_beside_daemon(client.home):
        say("duckrow: the page is no longer served.")
    running_before = client.running()
    was_running = client.end_daemon(kill_jobs)
    running_now = client.running()
    if not was_running:
        ended = running_before - running_now if kill_jobs else 0
        note = f" {plural(ended, 'job')} stopped." if ended else ""
        say(f"duckrow: the daemon is not running.{note}")
        return EXIT_OK
    keep, them = ("keeps", "it") if running_now == 1 else ("keep", "them")
    note = (
        f" {plural(running_now, 'job')} {keep} running; `duckrow up` looks after {them} again." if running_now else ""
    )
    say(f"duckrow: the daemon has ended.{note}")
    return EXIT_OK
