"""`duckrow rerun`: jobs that are done go back into the queue, as a further attempt."""

from __future__ import annotations

import click

from duckrow.api.client import Client
from duckrow.cli.console import say
from duckrow.core.errors import EXIT_OK, UsageError
from duckrow.core.lifecycle import State


@click.command(short_help="Put jobs that are done back into the queue.")
@click.argument("words", nargs=-1, metavar="[IDS]...")
@click.option("--failed", is_flag=True, help="All jobs that are done and did not succeed.")
def command(words: tuple[str, ...], failed: bool) -> int:
    """Run jobs again, with the same command, folder and variables. Earlier attempts and their logs are kept.

    \b
    duckrow rerun 12
    duckrow rerun --failed
    """
    if bool(words) == failed:
        raise UsageError("Say which jobs to run again: ids, names or --failed.")
    client = Client()
    ids = client.select(words) if words else client.unsuccessful()
    views = client.views(ids)
    for view in [view for view in views if view.state != State.DONE][:10]:
        say(f"duckrow: job {view.id} is {view.state}, not done: nothing to run again.")
    done = [view.id for view in views if view.state == State.DONE]
    if done:
        client.rerun(done)
    say(f"duckrow: {len(done)} {'job is' if len(done) == 1 else 'jobs are'} back in the queue.")
    return EXIT_OK
