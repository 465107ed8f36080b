"""Putting the daemon into the background: choosing its devices, starting it, hearing that it is ready."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence

from duckrow.core.errors import DuckrowError, StateError
from duckrow.core.inventory import Seat
from duckrow.core.units import plural
from duckrow.devices.discover import offer_of
from duckrow.engines.local.gpu_locks import VARIABLE as GPU_LOCKS
from duckrow.engines.local.keeper import fork_host
from duckrow.scheduler.choice import DeviceChoice, keep, remembered
from duckrow.scheduler.daemon import serve
from duckrow.scheduler.host import AlreadyRunning
from duckrow.store.database import Database
from duckrow.store.folder import Folder, permission_hint, state_folder
from duckrow.store.hosts import DAEMON, HostStore, is_alive, seats_from


def serve_here(choice: DeviceChoice, ready: Callable[[], None], dispatch: bool) -> None:
    """Be the daemon. Without `dispatch` it only looks after what runs."""
    folder = state_folder()
    database = Database(folder)
    choice = remembered(database, choice)
    offer = offer_of(
        choice.gpus or None,
        choice.slots,
        choice.jobs_per_gpu,
        with_cpu_slots=True,
        policy=choice.policy,
        ask_sizes=True,
    )
    keep(database, choice)  # now that it has turned out to be possible
    database.close()
    link = fork_host(folder.keepers, speaks=False)
    try:
        serve(folder, offer, link, ready, dispatch)
    except AlreadyRunning as error:
        link.journal.remove()
        raise AlreadyRunning(f"There is a daemon already. {error}") from None


def launch(choice: DeviceChoice, python: str, dispatch: bool) -> tuple[int | None, bool]:
    """Start a daemon in the background unless one runs; its PID, and whether it is new."""
    folder = state_folder()
    hosts = HostStore(Database(folder))
    if is_alive(folder, DAEMON):
        return hosts.get(DAEMON).pid, False
    log = _open_log(folder)
    reading, writing = os.pipe()
    log_began = os.fstat(log).st_size
    try:
        process = subprocess.Popen(
            [python, "-m", "duckrow", "up", "--foreground", "--ready-fd", str(writing), *choice.words()]
            + ([] if dispatch else ["--no-dispatch"]),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=(writing,),
            cwd="/",
            env=_own_environment(folder),
        )
    finally:
        os.close(writing)
        os.close(log)
    with open(reading, "rb") as news:
        is_ready = news.read() == b"ready"
    if is_ready:
        process.returncode = 0  # it is not ours to wait for
        return hosts.get(DAEMON).pid, True
    process.wait()
    if is_alive(folder, DAEMON):  # another one, started at the same moment, was quicker
        return hosts.get(DAEMON).pid, False
    with open(folder.daemon_log, "rb") as file:
        file.seek(log_began)
        said = file.read().decode("utf-8", "replace").strip().removeprefix("duckrow: ")
    raise DuckrowError(said or f"The daemon ended at once, with exit code {process.returncode}.")


def _open_log(folder: Folder) -> int:
    try:
        return os.open(folder.daemon_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise StateError(
            f"{folder.daemon_log} cannot be written: {error.strerror}. {permission_hint(folder)}"
        ) from None


def _own_environment(folder: Folder) -> dict[str, str]:
    """A daemon that is started from within a job is no part of that job."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DUCKROW_") or name == GPU_LOCKS}
    return {**kept, "DUCKROW_HOME": folder.root}


def daemon_seats() -> str:
    """The daemon's devices in words."""
    return describe(seats_from(HostStore(Database(state_folder())).get(DAEMON).seats))


def describe(seats: Sequence[Seat]) -> str:
    gpus = sorted({device for seat in seats if not seat.is_cpu for device in seat.devices})
    cpu_slots = sum(seat.is_cpu for seat in seats)
    parts = [f"GPU{'s' if len(gpus) > 1 else ''} {', '.join(gpus)}"] if gpus else []
    return " and ".join(parts + ([plural(cpu_slots, "CPU slot")] if cpu_slots else []))
