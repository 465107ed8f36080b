"""`duckrow gpus`: the devices, and what runs on them."""

from __future__ import annotations

import sys
import time

import click

from duckrow.api.client import Client
from duckrow.api.devices.gpus import GpuView
from duckrow.api.devices.paces import paces_of_running
from duckrow.api.devices.wishes import wish_of_devices
from duckrow.cli.console import clean, print_json, say, terminal_height
from duckrow.cli.opening import client_of_verb
from duckrow.cli.options.option_values import TIME
from duckrow.cli.views.gpu_table import DeviceRow, gpu_lines
from duckrow.cli.views.obstacles import NO_DAEMON
from duckrow.core.devices.inventory import names_one_gpu
from duckrow.core.errors import EXIT_OK, UsageError
from duckrow.core.life.wishes import DeviceWish

_WATCH_S = "1"


@click.group(invoke_without_command=True, short_help="Show, add, drain and remove devices.")
@click.option(
    "--watch", "-w", type=TIME, is_flag=False, flag_value=_WATCH_S, metavar="[SECONDS]",
    help=f"Refresh every N seconds (default {_WATCH_S}).",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md describes it).")
@click.pass_context
def command(ctx: click.Context, /, watch: float | None, as_json: bool) -> int:
    """Show the GPUs and CPU slots that duckrow uses, and who is on them; or change the daemon's.

    Without a daemon, shows the GPUs of this machine.

    \b
    duckrow gpus
    duckrow gpus --watch        until Ctrl-C
    duckrow gpus add 2          use GPU 2 as well, or again if it was set aside
    duckrow gpus drain 0        no new job on GPU 0; running ones may finish
    duckrow gpus remove 0       the same, and then it is gone
    """
    if ctx.invoked_subcommand:
        return EXIT_OK
    client = client_of_verb()
    view = GpuView(client)
    if watch is not None:
        if as_json:
            raise UsageError("--watch and --json do not go together. Omit one of them.")
        if not sys.stdout.isatty():
            raise UsageError("--watch needs a terminal. Omit it.")
        _watch(client, view, max(watch, 0.1))
    devices = view.all_of_this_machine()
    if as_json:
        print_json(devices)
        return EXIT_OK
    for line in [*gpu_lines(devices), *_paces(client, devices)]:
        print(line)
    if client.daemon() is None:
        say(NO_DAEMON)
    return EXIT_OK


def _paces(client: Client, devices: list[DeviceRow]) -> list[str]:
    told = [clean(sentence) for sentence in paces_of_running(client, devices)]
    return ["", *told] if told else []


def _watch(client: Client, view: GpuView, every_s: float) -> None:
    """Refresh the screen until Ctrl-C."""
    sys.stdout.write("\x1b[2J")
    while True:
        devices = view.all_of_this_machine()
        no_daemon = [NO_DAEMON] if client.daemon() is None else []
        lines = [*gpu_lines(devices), *_paces(client, devices), *no_daemon]
        most = max(terminal_height() - 1, 1)
        if len(lines) > most:
            lines = [*lines[: most - 1], f"... and {len(lines) - most + 1} more lines"]
        sys.stdout.write("\x1b[H" + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")
        sys.stdout.flush()
        time.sleep(every_s)


def _changer(wish: DeviceWish, help_text: str) -> None:
    @command.command(wish.value, help=help_text)
    @click.argument("devices", nargs=-1, required=True)
    def change(devices: tuple[str, ...]) -> int:
        for device in devices:
            if not names_one_gpu(device):
                raise UsageError(f"'{device}' does not name a GPU. Write its number or its UUID.")
        for sentence in wish_of_devices(client_of_verb(), devices, wish):
            say(f"duckrow: {sentence}")
        return EXIT_OK


_changer(DeviceWish.ADD, "Use these GPUs as well, or again if they were set aside.")
_changer(DeviceWish.DRAIN, "Start no new job on these GPUs; running ones may finish.")
_changer(DeviceWish.UNDRAIN, "Start jobs on these GPUs again.")
_changer(DeviceWish.REMOVE, "Stop using these GPUs, each when its last job has ended.")
