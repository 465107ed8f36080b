"""`duckrow gpus`: the devices, and what runs on them."""

from __future__ import annotations

import click

from duckrow.api.client import Client
from duckrow.cli.console import print_json, print_table, say
from duckrow.core.errors import EXIT_OK
from duckrow.core.job import shorten
from duckrow.core.units import format_duration


@click.command(short_help="Show the devices and what runs on them.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md describes it).")
def command(as_json: bool) -> int:
    """Show the GPUs and CPU slots that duckrow gives out, and which job has them.

    \b
    duckrow gpus
    duckrow gpus --json
    """
    client = Client()
    devices = client.devices()
    if as_json:
        print_json(devices)
        return EXIT_OK
    rows = [
        (
            device["device"],
            device["host"],
            f"{round(job['share'] * 100)}%" if job else "free",
            str(job["id"]) if job else "",
            format_duration(job["for_s"]) if job else "",
            shorten(job["command"], 200) if job else "",
        )
        for device in devices
        for job in (device["jobs"] or [None])
    ]
    if rows:
        print_table(("DEVICE", "HOST", "HELD", "JOB", "FOR", "COMMAND"), rows)
    if client.daemon() is None:
        say("duckrow: the daemon is not running; `duckrow up` starts it.")
    return EXIT_OK
