"""`duckrow ls`: the jobs, active ones last, so that they stand above the prompt."""

from __future__ import annotations

import click

from duckrow.api.client import Client
from duckrow.cli.console import print_json, say
from duckrow.cli.job_table import print_jobs
from duckrow.core.errors import EXIT_OK
from duckrow.core.lifecycle import Outcome, State

STATES = [*(state.value for state in State), *(outcome.value for outcome in Outcome)]
_SHOWN = 30


@click.command(short_help="List jobs.")
@click.argument("words", nargs=-1, metavar="[IDS]...")
@click.option("--state", "-s", type=click.Choice(STATES), help="Only jobs in this state, or with this outcome.")
@click.option("--project", "-p", help="Only jobs of this project.")
@click.option("--all", "-a", "show_all", is_flag=True, help=f"All jobs, not just {_SHOWN}.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md describes it).")
def command(words: tuple[str, ...], state: str | None, project: str | None, show_all: bool, as_json: bool) -> int:
    """List jobs: those that run or wait, and the last that are done.

    \b
    duckrow ls                    the newest
    duckrow ls 10-12,15 last      these
    duckrow ls --state failed     what went wrong
    duckrow ls --json | jq        for programs
    """
    client = Client()
    if words:
        views = client.views(client.select(words))
    else:
        views = client.listing(state, project, -1 if show_all else _SHOWN)
    if as_json:
        print_json([view.as_json() for view in views])
        return EXIT_OK
    if views:
        print_jobs(views, show_project=len({view.project for view in views}) > 1)
    if not words:
        _say_totals(client, project)
    return EXIT_OK


def _say_totals(client: Client, project: str | None) -> None:
    counts = client.counts(project)
    if not counts:
        say("No jobs yet. Add one: duckrow submit -- python train.py")
        return
    ordered = [f"{counts[state]} {state}" for state in STATES if state in counts]
    pauses = client.jobs.pauses()
    note = ""
    if pauses:
        what = "everything is" if "" in pauses else f"{', '.join(pauses)} {'is' if len(pauses) == 1 else 'are'}"
        note = f"; {what} paused (duckrow resume)"
    elif counts.get("queued") and client.daemon() is None:
        note = "; the daemon is not running (duckrow up)"
    say(f"{', '.join(ordered)}{note}.")
