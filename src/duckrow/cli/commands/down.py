"""`duckrow down`: ends the daemon."""

from __future__ import annotations

import click

from duckrow.api.machine.web_process import end_beside_daemon
from duckrow.cli.console import say
from duckrow.cli.opening import client_of_verb
from duckrow.core.errors import EXIT_OK
from duckrow.core.units import plural


@click.command(short_help="End the daemon; running jobs go on.")
@click.option("--kill", "kill_jobs", is_flag=True, help="End the running jobs too.")
def command(kill_jobs: bool) -> int:
    """End the daemon. Running jobs go on, and waiting ones wait, until it is up again.

    \b
    duckrow down
    duckrow down --kill
    """
    client = client_of_verb()
    if end_beside_daemon(client.home):
        say("duckrow: the page is no longer served.")
    if not client.end_daemon(kill_jobs):
        say("duckrow: the daemon is not running.")
        return EXIT_OK
    running_now = client.running()
    note = (
        f" {plural(running_now, 'running job')} still there; `duckrow up` looks after them again."
        if running_now
        else ""
    )
    say(f"duckrow: the daemon has ended.{note}")
    return EXIT_OK
