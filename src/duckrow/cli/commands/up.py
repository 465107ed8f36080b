"""`duckrow up`: starts the daemon, in the background unless asked otherwise."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import replace
from typing import Any

import click

from duckrow.api.machine.settings import Settings
from duckrow.cli.console import say
from duckrow.cli.options.gpu_options import DeviceCommand
from duckrow.cli.options.job_options import device_options, policy_of
from duckrow.cli.options.option_values import TIME
from duckrow.cli.options.verb_options import DeviceOptions, fill_devices, has_only_slots
from duckrow.cli.uses_of_verbs import VerbUse, any_typed, refuse_meaningless
from duckrow.core.devices.policy import KNOBS
from duckrow.core.errors import EXIT_FAILED, EXIT_OK, DuckrowError, UsageError
from duckrow.scheduler.hosts.background import (
    READY,
    TAKEN,
    check_devices,
    check_preferred,
    daemon_seats,
    given_up,
    launch,
    notes_on,
    serve_here,
)
from duckrow.scheduler.hosts.chosen_devices import DeviceChoice, keep
from duckrow.scheduler.hosts.host import AlreadyRunning


class UpCommand(DeviceCommand):
    common = (
        *("devices", "slots", "jobs_per_gpu", "prefer", "min_free_gpus", "max_gpus", "only_idle_gpus", "share_gpus"),
        *("foreground", "quiet", "with_page", "service", "print_unit", "remove"),
    )


@click.command(cls=UpCommand, short_help="Start the daemon.")
@device_options
@click.option("--foreground", is_flag=True, help="Stay here and log to the terminal (for systemd).")
@click.option("--quiet", is_flag=True, help="Print nothing if all is well.")
@click.option("--web", "with_page", is_flag=True, help="Serve the page too (duckrow web), in the background.")
@click.option("--service", is_flag=True, help="Let systemd start it, now and whenever you log in.")
@click.option("--print", "print_unit", is_flag=True, help="With --service: only print the unit.")
@click.option("--remove", is_flag=True, help="With --service: remove the service; jobs keep running.")
@click.option("--settle", is_flag=True, hidden=True)
@click.option("--by-default", is_flag=True, hidden=True)
@click.option("--gpus", "named_before", multiple=True, hidden=True)
@click.option("--ready-fd", type=int, hidden=True)
@click.option("--keep", type=TIME, hidden=True)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    foreground: bool,
    quiet: bool,
    settle: bool,
    ready_fd: int | None,
    keep: float | None,
    **values: Any,
) -> int:
    """Start the daemon, which runs what `duckrow submit` adds. `duckrow submit` does this by itself.

    \b
    duckrow up                    all GPUs, without GPUs one slot per core; or what you chose last time
    duckrow up --devices 0,1      only these GPUs
    duckrow up --devices 0 0 1 1  two jobs on each at a time
    duckrow up --slots 8          CPU slots
    duckrow up --web              and the page for a browser
    duckrow up --service          as a systemd service, which starts again after a reboot
    """
    if (values["print_unit"] or values["remove"]) and not values["service"]:
        raise UsageError("--print and --remove go with --service: duckrow up --service --print")
    _take_old_devices(values)
    is_typed = not values["by_default"] and ready_fd is None  # else these words are not a person's
    if is_typed:
        refuse_meaningless(ctx, _uses(ctx, DeviceOptions(values["devices"], values["slots"])))
    choice = _choice(values, filled=ready_fd is not None)
    if is_typed:
        check_preferred(choice)
    if values["with_page"] and (foreground or values["service"]):
        raise UsageError("--web goes with a daemon in the background. Beside this one: duckrow web")
    if values["service"]:
        return _serve_by_systemd(choice, values["print_unit"], values["remove"])
    if ready_fd is None:
        keep = Settings()["daemon.keep"]
    if foreground:
        return _serve(choice, ready_fd, settle, keep)
    code = _launch(choice, quiet, settle, keep)
    if values["with_page"]:
        from duckrow.api.machine.web_process import start_beside_daemon
        from duckrow.cli.opening import client_of_verb

        print(start_beside_daemon(client_of_verb().home), end="")
    return code


def _uses(ctx: click.Context, typed: DeviceOptions) -> list[VerbUse]:
    return [VerbUse.ONLY_SLOTS] if any_typed(ctx, VerbUse.ONLY_SLOTS) and has_only_slots("daemon", typed) else []


def _launch(choice: DeviceChoice, quiet: bool, settles: bool, keep_s: float | None) -> int:
    left_out = given_up(choice)
    pid, is_new = launch(choice, sys.executable, settles, keep_s)
    if not is_new and choice.is_explicit:
        _end_for_change(choice)
        pid, is_new = launch(choice, sys.executable, settles, keep_s)
    if not is_new and not quiet:
        say(f"duckrow: the daemon is already running (process {pid}).")
    elif not quiet:
        say(f"duckrow: the daemon is running (process {pid}), with {daemon_seats()}.")
        if left_out:
            say(f"duckrow: this replaces what you chose before. To keep that too, add: {shlex.join(left_out)}")
        for note in notes_on(choice):
            say(f"duckrow: {note}")
    return EXIT_OK


def _end_for_change(choice: DeviceChoice) -> None:
    """Stop the daemon, as the next one has other devices. Running jobs keep running, and it adopts them."""
    from duckrow.api.client import Client
    from duckrow.api.machine import service

    if os.path.exists(service.unit_path()):
        words = " ".join(choice.words())
        raise UsageError(f"The daemon is a systemd service. To change its devices: duckrow up --service {words}")
    check_devices(choice)
    with Client() as client:
        client.end_daemon()


def _take_old_devices(values: dict[str, Any]) -> None:
    """`--devices` was once called `--gpus`. An old unit file still works; a person gets an error."""
    named = values.pop("named_before")
    if named and not values["by_default"]:
        raise UsageError(f"To choose which GPUs the daemon uses: duckrow up --devices {' '.join(named)}.")
    values["devices"] = values["devices"] or named


def _choice(values: dict[str, Any], filled: bool) -> DeviceChoice:
    """What was typed, else what the settings say. `filled`: the process that started us has read the settings."""
    named = bool(values["devices"]) or values["slots"] is not None or values["jobs_per_gpu"] is not None
    chosen = named or any(values[knob.option] not in (None, False) for knob in KNOBS.values())
    if not filled:
        fill_devices("daemon", values, Settings())
    return DeviceChoice(
        values["devices"],
        values["slots"],
        values["jobs_per_gpu"] or 1,
        by_default=values["by_default"] or not chosen,
        policy=policy_of(values),
    )


def _serve(choice: DeviceChoice, ready_fd: int | None, settles: bool, keep_s: float | None) -> int:
    if ready_fd is None:
        from duckrow.api.machine.service import tell_ready
        from duckrow.cli.stand_in import stand_in

        return stand_in(lambda: serve_here(choice, tell_ready, settles, keep_s))
    os.set_inheritable(ready_fd, False)

    def announce() -> None:
        os.write(ready_fd, READY)
        os.close(ready_fd)

    try:
        serve_here(choice, announce, settles, keep_s)
    except AlreadyRunning:
        os.write(ready_fd, TAKEN)
        raise
    return EXIT_OK


def _serve_by_systemd(choice: DeviceChoice, print_unit: bool, remove: bool) -> int:
    from duckrow.api.machine import service
    from duckrow.cli.opening import client_of_verb

    # The service reads the settings when it starts; the unit holds only what was typed. The remembered devices win over
    # that, so that a restart does not undo later changes by `duckrow gpus add` and `remove`.
    devices = replace(choice, by_default=True).words() if choice.is_explicit else []
    unit = service.unit_text([sys.executable, "-m", "duckrow", "up", "--foreground", *devices])
    if print_unit:
        print(unit, end="")
        return EXIT_OK
    if remove:
        return _remove_service()
    path = service.write_unit(unit)
    client = client_of_verb()
    keep(client.database, choice)
    say(f"duckrow: wrote {path}.")
    if not service.has_systemd():
        say("duckrow: systemd does not answer here. Where it does: systemctl --user enable --now duckrow")
        return EXIT_FAILED
    # A daemon that `submit` started would keep the service from starting.
    if client.end_daemon():
        say("duckrow: the old daemon has ended. Its running jobs keep running, and the service looks after them.")
    for words in (["daemon-reload"], ["enable", service.UNIT], ["restart", service.UNIT]):
        trouble = service.systemctl(*words)
        if trouble:
            raise DuckrowError(
                f"systemctl --user {' '.join(words)} failed: {trouble.rstrip('.')}. The unit is in place; "
                "to remove it: duckrow up --service --remove"
            )
    say("duckrow: the service is enabled and running: systemctl --user status duckrow")
    if not service.lingers():
        say("duckrow: it starts when you log in and ends when you log out. To keep it running: loginctl enable-linger")
    return EXIT_OK


def _remove_service() -> int:
    from duckrow.api.machine import service

    trouble = service.systemctl("disable", "--now", service.UNIT)
    if not service.remove_unit():
        say("duckrow: there is no service to remove.")
        return EXIT_OK
    service.systemctl("daemon-reload")
    note = f" systemd was not informed: {trouble}" if trouble else " Running jobs keep running."
    say(f"duckrow: {service.unit_path()} is removed.{note}")
    return EXIT_OK
