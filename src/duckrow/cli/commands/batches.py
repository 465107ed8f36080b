"""`duckrow batches`: the batches of runs on clusters, their SLURM jobs, and adding one from another login node."""

from __future__ import annotations

import os

import click

from duckrow.api.client import Client
from duckrow.api.clusters.standing import start_command
from duckrow.cli.console import print_json, print_table, say
from duckrow.cli.opening import client_of_verb
from duckrow.core.errors import EXIT_OK, UsageError
from duckrow.core.units import plural

_NUMBERS = ("running", "failed", "jobs")


@click.command(short_help="Show the batches of runs on clusters.")
@click.argument("name", required=False)
@click.option(
    "--start", is_flag=True, help="Submit SLURM jobs for queued runs, also after you cancelled all with scancel."
)
@click.option("--add", "adds", is_flag=True, help="Add all batches that other login nodes have submitted.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md describes it).")
def command(name: str | None, start: bool, adds: bool, as_json: bool) -> int:
    """Show what was submitted with --on: each batch, its folder, its progress, its SLURM jobs.

    \b
    duckrow batches                         all that this login node knows
    duckrow batches slurm-1115-153636       one of them
    duckrow batches slurm-1115-153636 --start
    duckrow batches .duckrow-slurm/thesis   add one that was submitted elsewhere, by its folder
    duckrow batches --add                   add all that are found

    Batches that another login node has submitted are found in .duckrow-slurm, in the folder that the settings name, and
    beside those that are known here. Once you have added one, its runs are in `duckrow ls` here too.
    """
    from duckrow.api.clusters.listing import adopt_batch, batch_rows, find_batch, start_batch

    client = client_of_verb()
    client.tender.submit()
    if name is not None and os.path.exists(f"{name}/batch.json"):
        name = adopt_batch(client, os.path.abspath(name))
    if name is None:
        _look_for_others(client, adds)
    elif adds:
        raise UsageError("--add adds all that are found. To add one, give its folder without --add.")
    found = None if name is None else find_batch(client, name)
    if start:
        if found is None:
            raise UsageError("Say which batch to continue: duckrow batches NAME --start.")
        jobs = start_batch(client, found)
        say(f"duckrow: {plural(len(jobs), 'SLURM job')} submitted for {found.name}.")
    rows = batch_rows(client, found)
    if as_json:
        print_json(rows)
    elif rows:
        shown = [
            (row["name"], f"{row['done']}/{row['runs']}", *(str(row[key]) for key in _NUMBERS), row["folder"])
            for row in rows
        ]
        print_table(("BATCH", "DONE", "RUNNING", "FAILED", "SLURM JOBS", "FOLDER"), shown, [""] * len(shown))
        for row in rows:
            for request in row["requests"]:
                say(f"duckrow: {row['name']}: {request}")
            if row["still"]:
                say(f"duckrow: {row['name']} is stuck: {row['still']}. Type: {start_command(row['name'])}")
    else:
        say("duckrow: there is no batch. `duckrow run --on slurm` creates one.")
    return EXIT_OK


def _look_for_others(client: Client, adds: bool) -> None:
    """Batches from other login nodes: add them, or say where they are."""
    from duckrow.api.clusters.listing import adopt_batch, unknown_batches

    unknown = unknown_batches(client)
    if adds:
        for folder in unknown:
            adopt_batch(client, folder)
        say(f"duckrow: added: {', '.join(map(os.path.relpath, unknown)) or 'none (all are known)'}.")
    elif unknown:
        more = ", ..." if len(unknown) > 5 else ""
        say(
            f"duckrow: submitted by another login node: {', '.join(map(os.path.relpath, unknown[:5]))}{more}. "
            "To add all: duckrow batches --add. To add one: duckrow batches FOLDER"
        )
