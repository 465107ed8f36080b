"""`duckrow up`: starts the daemon, in the background unless asked otherwise."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from duckrow.cli.console import say
from duckrow.cli.job_options import DeviceCommand, device_options
from duckrow.core.errors import EXIT_OK, DuckrowError
from duckrow.scheduler.background import DeviceChoice, daemon_seats, launch, serve_here


@click.command(cls=DeviceCommand, short_help="Start the daemon.")
@device_options
@click.option("--foreground", is_flag=True, help="Stay here and log to the terminal (for systemd).")
@click.option("--quiet", is_flag=True, help="Say nothing if all is well.")
@click.option("--no-dispatch", is_flag=True, hidden=True)
@click.option("--ready-fd", type=int, hidden=True)
def command(foreground: bool, quiet: bool, no_dispatch: bool, ready_fd: int | None, **values: Any) -> int:
    """Start the daemon, which runs what `duckrow submit` adds. `duckrow submit` does this by itself.

    \b
    duckrow up                    all GPUs, else one slot a core; or what was chosen last time
    duckrow up --gpus 0,1         just these
    duckrow up --gpus 0 0 1 1     two jobs on each at a time
    duckrow up --slots 8          CPU slots
    """
    choice = DeviceChoice(list(values["gpus"]), values["slots"], values["jobs_per_gpu"])
    if foreground:
        serve_here(choice, _announcer(ready_fd), dispatch=not no_dispatch)
        return EXIT_OK
    pid, is_new = launch(choice, sys.executable, dispatch=not no_dispatch)
    if not is_new:
        if choice.is_explicit:
            raise DuckrowError(f"The daemon runs already, as process {pid}. To change its devices: duckrow down first.")
        if not quiet:
            say(f"duckrow: the daemon runs already, as process {pid}.")
    elif not quiet:
        say(f"duckrow: the daemon runs as process {pid}, over {daemon_seats()}.")
    return EXIT_OK


def _announcer(ready_fd: int | None) -> Any:
    if ready_fd is not None:
        os.set_inheritable(ready_fd, False)

    def announce() -> None:
        if ready_fd is not None:
            os.write(ready_fd, b"ready")
            os.close(ready_fd)

    return announce
