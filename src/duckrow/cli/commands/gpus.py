"""`duckrow gpus`: the devices, and what runs on them."""

from __future__ import annotations

import click

from duckrow.api.client import Client
from duckrow.api.control import Control
from duckrow.cli.console import print_json, print_table, say
from duckrow.core.errors import EXIT_OK, UsageError
from duckrow.core.inventory import looks_like_devices
from duckrow.core.job import shorten
from duckrow.core.units import format_duration


@click.group(invoke_without_command=True, short_help="Show the devices, add, drain and remove them.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md describes it).")
@click.pass_context
def command(ctx: click.Context, /, as_json: bool) -> int:
    """Show the GPUs and CPU slots that duckrow gives out, and which job has them; or change the daemon's.

    \b
    duckrow gpus
    duckrow gpus add 2          give out GPU 2 as well
    duckrow gpus drain 0        no new job on GPU 0; what runs there may end
    duckrow gpus remove 0       the same, and then it is gone
    """
    return EXIT_OK if ctx.invoked_subcommand else _show(as_json)


def _show(as_json: bool) -> int:
    client = Client()
    devices = client.devices()
    if as_json:
        print_json(devices)
        return EXIT_OK
    rows = [
        (
            device["device"],
            device["host"],
            (f"{round(job['share'] * 100)}%" if job else "" if device["drained"] else "free")
            + (" drained" if device["drained"] else ""),
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


def _changer(wish: str, help_text: str) -> None:
    @command.command(wish, help=help_text)
    @click.argument("devices", nargs=-1, required=True)
    def change(devices: tuple[str, ...]) -> int:
        for device in devices:
            if not looks_like_devices(device) or device in ("", "all") or "," in device or "+" in device:
                raise UsageError(f"'{device}' does not name a GPU. Write its number or its UUID.")
        control = Control()
        for device in devices:
            say(f"duckrow: {control.wish_of_device(device, wish)}")
        return EXIT_OK


_changer("add", "Give out these GPUs as well.")
_changer("drain", "Start no new job on these GPUs; what runs there may end.")
_changer("undrain", "Start jobs on these GPUs again.")
_changer("remove", "Give these GPUs up, each when its last job has ended.")
