"""Starts the daemon in the background: chooses its devices, and waits until it is ready."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import closing

from duckrow.core.devices.inventory import Seat
from duckrow.core.devices.typed_devices import left_out_by_size, preferred_elsewhere
from duckrow.core.errors import DuckrowError, StateError, UsageError
from duckrow.core.units import plural
from duckrow.devices.cuda_order import VARIABLE as ORDER
from duckrow.devices.discover import VISIBLE, Offer, offer_of
from duckrow.engines.local.cgroups.cgroups import leave_attempt_group
from duckrow.engines.local.keeper.keeper import fork_host
from duckrow.engines.local.processes.processes import DAEMON_TAG, TAG
from duckrow.kernel.cgroup_place import VARIABLE as CGROUPS
from duckrow.kernel.process import signal_process
from duckrow.kernel.shared_folder import VARIABLE as GPU_LOCKS
from duckrow.scheduler.hosts.chosen_devices import DeviceChoice, keep, no_longer_chosen, remembered
from duckrow.scheduler.hosts.daemon import serve
from duckrow.scheduler.hosts.host import AlreadyRunning
from duckrow.store.folder.state_folder import Folder, permission_hint, state_folder
from duckrow.store.hosts import DAEMON, HostStore, is_alive, seats_from
from duckrow.store.sqlite.database import Database

READY, TAKEN = b"ready", b"taken"  # what a daemon tells the process that started it; TAKEN: another daemon was quicker
_OTHERS_S = 30.0


def serve_here(
    choice: DeviceChoice, ready: Callable[[], None], settles: bool = False, keep_s: float | None = None
) -> None:
    """Run as the daemon; `settles`: only until what people want of jobs is done, and without starting any."""
    if os.environ.get(TAG) == DAEMON_TAG:
        leave_attempt_group()  # if a job started it, it would end with the job
    folder = state_folder()
    database = Database(folder)
    choice = remembered(database, choice)
    offer = check_devices(choice)
    keep(database, choice)  # now we know that these devices work
    database.close()
    if not settles:
        _make_room(folder)
    link = fork_host(folder.keepers, speaks=False)
    try:
        serve(folder, offer, link, ready, settles, keep_s)
    except AlreadyRunning as error:
        link.journal.remove()
        raise AlreadyRunning(f"There is already a daemon. {error}") from None


def _make_room(folder: Folder) -> None:
    """End a host that only settles wishes, for a daemon. The daemon continues its work."""
    with closing(Database(folder)) as database:
        hosts, deadline = HostStore(database), time.monotonic() + _OTHERS_S
        while is_alive(folder, DAEMON) and (row := hosts.get(DAEMON)).settles and time.monotonic() < deadline:
            if row.is_open:
                signal_process(row.process, signal.SIGTERM)
            time.sleep(0.01)


def check_devices(choice: DeviceChoice) -> Offer:
    """The seats of a daemon with these devices; a UsageError if they do not exist."""
    return offer_of(
        choice.devices or None,
        choice.slots,
        choice.jobs_per_gpu,
        with_cpu_slots=True,
        policy=choice.policy,
        ask_sizes=True,
    )


def check_preferred(choice: DeviceChoice) -> None:
    """A person prefers GPUs that exist. Some may be removed later; the others keep their order."""
    offer = check_devices(choice) if choice.policy.prefer else None
    elsewhere = preferred_elsewhere(offer.seats, offer.machine) if offer is not None else None
    if elsewhere:
        raise UsageError(elsewhere)


def notes_on(choice: DeviceChoice) -> tuple[str, ...]:
    """How the user's environment variables affect the devices of a daemon that was just started, and what it lacks."""
    has_sizes = any(":" in device for device in choice.devices)
    if not has_sizes and not {VISIBLE, ORDER} & os.environ.keys():
        return ()
    with closing(Database(state_folder())) as database:
        choice = remembered(database, choice)
    offer = check_devices(choice)
    visible = f"{VISIBLE}={os.environ.get(VISIBLE)}"
    limit = f"using only the GPUs in {visible}; to choose others: duckrow up --devices"
    left_out = left_out_by_size(offer.seats, offer.machine, chosen_by="duckrow up ") if has_sizes else None
    no_memory = [f"{left_out} Without it, jobs that ask for GPU memory do not run there."] if left_out else []
    return (*([limit] if offer.is_limited else []), *offer.notes, *no_memory)


def given_up(choice: DeviceChoice) -> list[str]:
    """The options that somebody chose before and that this choice does not name. Where no queue is, none is made."""
    folder = state_folder()
    if not choice.is_explicit or not os.path.exists(folder.database):
        return []
    with closing(Database(folder)) as database:
        return no_longer_chosen(database, choice)


def launch(
    choice: DeviceChoice, python: str, settles: bool = False, keep_s: float | None = None
) -> tuple[int | None, bool]:
    """Start a daemon in the background unless one is running; its PID, and whether it is new.

    If somebody else starts one meanwhile, that is fine too. If one is just ending, wait for its end.
    """
    folder = state_folder()
    words = [*choice.words(), *_other_words(settles, keep_s)]
    with closing(Database(folder)) as database:
        return _launch(folder, HostStore(database), words, python, settles)


def _launch(
    folder: Folder, hosts: HostStore, words: Sequence[str], python: str, settles: bool
) -> tuple[int | None, bool]:
    deadline = time.monotonic() + _OTHERS_S
    while True:
        if _is_ready(folder, hosts, deadline, settles):
            return hosts.get(DAEMON).pid, False
        news, said, code = _start(folder, words, python)
        if news == READY:
            return hosts.get(DAEMON).pid, True
        if news != TAKEN or time.monotonic() > deadline:
            raise DuckrowError(said or f"The daemon ended at once, with exit code {code}.")


def _is_ready(folder: Folder, hosts: HostStore, deadline: float, settles: bool = False) -> bool:
    """Whether a daemon is running; `settles`: or one that settles. Give one that starts or ends the time to do so."""
    while is_alive(folder, DAEMON):
        row = hosts.get(DAEMON)
        if row.settles and not settles:
            return False  # a daemon ends it
        if (row.is_open and not row.was_killed) or time.monotonic() > deadline:
            return True
        time.sleep(0.01)
    return False


def _other_words(settles: bool, keep_s: float | None) -> list[str]:
    return [*(["--settle"] if settles else []), *([] if keep_s is None else ["--keep", f"{keep_s}s"])]


def _start(folder: Folder, words: Sequence[str], python: str) -> tuple[bytes, str, int]:
    """Start it and wait for its answer; if it has ended, what it logged and its exit code."""
    log = _open_log(folder)
    reading, writing = os.pipe()
    log_began = os.fstat(log).st_size
    try:
        process = subprocess.Popen(
            [python, "-m", "duckrow", "up", "--foreground", "--ready-fd", str(writing), *words],
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
    with open(reading, "rb") as file:
        news = file.read()
    if news == READY:
        process.returncode = 0  # it is not our child
        return news, "", 0
    code = process.wait()
    with open(folder.daemon_log, "rb") as file:
        file.seek(log_began)
        return news, file.read().decode("utf-8", "replace").strip().removeprefix("duckrow: "), code


def _open_log(folder: Folder) -> int:
    try:
        return os.open(folder.daemon_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise StateError(
            f"{folder.daemon_log} cannot be written: {error.strerror}. {permission_hint(folder)}"
        ) from None


def _own_environment(folder: Folder) -> dict[str, str]:
    """A daemon that is started from within a job is not part of that job."""
    of_machine = (GPU_LOCKS, CGROUPS)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DUCKROW_") or name in of_machine}
    return {**kept, "DUCKROW_HOME": folder.root, TAG: DAEMON_TAG}


def daemon_seats() -> str:
    """The daemon's devices in words."""
    with closing(Database(state_folder())) as database:
        return describe(seats_from(HostStore(database).get(DAEMON).seats))


def describe(seats: Sequence[Seat]) -> str:
    gpus = sorted({device for seat in seats if not seat.is_cpu for device in seat.devices})
    cpu_slots = sum(seat.is_cpu for seat in seats)
    parts = [f"GPU{'s' if len(gpus) > 1 else ''} {', '.join(gpus)}"] if gpus else []
    return " and ".join(parts + ([plural(cpu_slots, "CPU slot")] if cpu_slots else []))
