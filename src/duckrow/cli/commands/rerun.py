"""`duckrow rerun`: jobs that are done go back into the queue, as a further attempt."""

from __future__ import annotations

from typing import Any

import click

from duckrow.api.client import Client
from duckrow.api.control import Control
from duckrow.api.sweep_list import find_sweep
from duckrow.cli.completing import complete_jobs
from duckrow.cli.console import say
from duckrow.cli.job_options import TIME
from duckrow.core.errors import EXIT_OK, UsageError
from duckrow.core.lifecycle import State


@click.command(short_help="Put jobs that are done back into the queue.")
@click.argument("words", nargs=-1, metavar="[IDS]...", shell_complete=complete_jobs)
@click.option("--failed", is_flag=True, help="All jobs that are done and did not succeed.")
@click.option("--sweep", metavar="NAME", help="With --failed: only those of this sweep.")
@click.option("--command", "command_", help="Run this instead.")
@click.option("--gpus", type=click.IntRange(0), help="With so many GPUs.")
@click.option("--timeout", "timeout_s", type=TIME, help="With this time limit.")
@click.option("--retries", type=click.IntRange(0), help="With so many retries.")
@click.option("--priority", type=int, help="With this priority.")
def command(words: tuple[str, ...], failed: bool, sweep: str | None, command_: str | None, **values: Any) -> int:
    """Run jobs again, with the same command, folder and variables, or with changes. Earlier attempts are kept.

    Jobs that were skipped because of how one of these had ended are queued again, too.

    \b
    duckrow rerun 12
    duckrow rerun 12 --gpus 2 --timeout 8h
    duckrow rerun --failed
    duckrow rerun --failed --sweep train
    """
    changes = {key: value for key, value in {"command": command_, **values}.items() if value is not None}
    if bool(words) == failed:
        raise UsageError("Say which jobs to run again: ids, names or --failed.")
    if sweep is not None and not failed:
        raise UsageError("--sweep goes with --failed: duckrow rerun --failed --sweep NAME.")
    client = Client()
    sweep_id = None if sweep is None else find_sweep(client, sweep).id
    ids = client.select(words) if words else client.unsuccessful(sweep_id)
    views = client.views(ids)
    for view in [view for view in views if view.state != State.DONE][:10]:
        say(f"duckrow: job {view.id} is {view.state}, not done: nothing to run again.")
    done = [view.id for view in views if view.state == State.DONE]
    if done and changes:
        Control(client).rerun_changed(done, changes)
    elif done:
        client.rerun(done)
    say(f"duckrow: {len(done)} {'job is' if len(done) == 1 else 'jobs are'} back in the queue.")
    return EXIT_OK
