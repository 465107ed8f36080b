"""The daemon seen from outside: whether it is running, starting it (only by its command), stopping it."""

from __future__ import annotations

import os
import sys
import time

from duckrow.core.errors import DuckrowError
from duckrow.kernel.process import our_pid_space, signal_process, space_in
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON, HostRow, HostStore, is_alive
from duckrow.store.sqlite.database import Database

END_S = 20.0
# Not `-m duckrow`: that would look for modules in the current folder first, and find a project's own json.py.
_PROGRAM = "import sys; sys.path[:] = filter(None, sys.path); from duckrow.cli.main import main; main()"


def running_daemon(folder: Folder, database: Database) -> HostRow | None:
    """The daemon's row, if it is alive and ready."""
    if not is_alive(folder, DAEMON):
        return None
    row = HostStore(database).get(DAEMON)
    return row if row.is_open and not row.settles and not row.was_killed else None


def ensure_daemon(folder: Folder, database: Database) -> bool:
    """Start the daemon unless it is running; whether it had to be started."""
    if running_daemon(folder, database) is not None:
        return False
    _up(folder, "Nothing was added to the queue.")
    return True


def settle(folder: Folder, database: Database) -> None:
    """If no daemon is running, have what people want of jobs done by a host that starts none, and then ends."""
    if running_daemon(folder, database) is None:
        _up(folder, "Your request is recorded: the next daemon does it (`duckrow up`).", "--settle")


def await_settled(folder: Folder, database: Database) -> None:
    """Until what was wished is done, including the ends of jobs."""
    while is_alive(folder, DAEMON) and HostStore(database).get(DAEMON).settles:
        time.sleep(0.01)


def _up(folder: Folder, otherwise: str, *words: str) -> None:
    """`otherwise`: what to say if it cannot be started."""
    import subprocess

    command = [sys.executable, "-c", _PROGRAM, "up", "--quiet", *words]
    started = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=_for_a_daemon(folder),
    )
    if started.returncode != 0:
        said = started.stderr.decode(errors="replace").strip().removeprefix("duckrow: ")
        raise DuckrowError(f"The daemon could not be started: {said} {otherwise}")


def _for_a_daemon(folder: Folder) -> dict[str, str]:
    """Drops CUDA_VISIBLE_DEVICES: the GPUs of the program that starts the daemon do not limit the daemon's."""
    kept = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    return {**kept, "DUCKROW_HOME": folder.root}


def _signal(row: HostRow, number: int) -> None:
    """Signal only that process; it may have just ended."""
    if not row.process:  # the daemon of an older duckrow; it holds its lock, so the PID is still its own
        os.kill(row.pid or 0, number)
    elif space_in(row.process) != our_pid_space():
        raise DuckrowError(
            f"The daemon is running in another container (process {row.pid} there). Run `duckrow down` there."
        )
    else:
        signal_process(row.process, number)


def end_daemon(folder: Folder, database: Database, kill_jobs: bool = False) -> HostRow | None:
    """Stop the daemon, with its running jobs if asked, and wait for its end; its row, or None if none was running."""
    row = running_daemon(folder, database)
    if row is None or row.pid is None:
        return None
    import signal

    _signal(row, signal.SIGQUIT if kill_jobs else signal.SIGTERM)
    deadline = time.monotonic() + END_S
    while is_alive(folder, DAEMON):
        if time.monotonic() > deadline and not kill_jobs:
            raise DuckrowError(f"The daemon (process {row.pid}) has not ended within {END_S:.0f} s.")
        time.sleep(0.01)
    return row
