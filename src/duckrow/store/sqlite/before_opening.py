"""Checks that the database and its files exist before opening it. SQLite would silently create a new one.

A missing database becomes an empty one, an empty one loses its log (-wal), and a missing log means that the last
changes are gone. A living host repairs most of this itself in a moment. What it cannot repair, we report.
"""

from __future__ import annotations

import os
import time

from duckrow.core.errors import StateError
from duckrow.store.folder.host_lock import holders
from duckrow.store.folder.state_folder import Folder
from duckrow.store.sqlite import database_lock
from duckrow.store.sqlite.database_files import size_of

REPAIR_S = 4.0  # how long a living host may take to notice and repair, or to end
RESCUED = ".rescued"
"""What a host adds to the database's name when it saves one that was removed."""


def look_before_opening(folder: Folder) -> None:
    """Raise if the database must not be opened; say so on stderr if a new queue begins beside folders of an old one."""
    if not missing_files(folder):
        return
    _await_repair(folder)
    path = folder.database
    if size_of(path):
        return  # without a host there is no log either, if everybody has closed the database properly
    if os.path.exists(path + RESCUED):
        raise StateError(
            f"The database {path} was removed while it was in use. All jobs are in {path}{RESCUED}: "
            f"mv {path}{RESCUED} {path} brings them back; rm {path}{RESCUED} starts a new queue."
        )
    if not has_remains(folder):
        return
    if not os.path.exists(path):
        _say_that_a_queue_begins(folder)
    elif not _grows(path):
        raise StateError(
            f"The database {path} is empty, but there are folders of earlier jobs: somebody emptied it. Nothing "
            f"was changed. Put a copy of it back, or move it away to start a new queue: mv {path} {path}.damaged"
        )


def missing_files(folder: Folder) -> list[str]:
    """The files of the database that are missing. Its log and index may be missing while nobody uses it."""
    path = folder.database
    missing = [path] if size_of(path) == 0 else []
    return missing + [name for name in (f"{path}-wal", f"{path}-shm") if not os.path.exists(name)]


def living_host(folder: Folder) -> tuple[int, int] | None:
    """A living host and its PID (0: not known), found without opening the database."""
    held = holders(folder)
    if held:
        return next(iter(held.items()))
    host_id = database_lock.any_taken(folder.database)
    return None if host_id is None else (host_id, 0)


def has_remains(folder: Folder) -> bool:
    """Whether there was a queue: folders of jobs, or journals of keepers."""
    for place in (folder.runs, folder.keepers):
        try:
            with os.scandir(place) as found:
                if any(found):
                    return True
        except OSError:
            pass
    return False


def _await_repair(folder: Folder) -> None:
    """While a living host uses the missing files, leave them alone: it will notice, and repair them or end."""
    deadline = time.monotonic() + REPAIR_S
    while (missing := missing_files(folder)) and (host := living_host(folder)) is not None:
        if time.monotonic() > deadline:
            raise StateError(_in_use(missing[0], *host))
        time.sleep(0.02)


def _in_use(missing: str, host_id: int, pid: int) -> str:
    who = "the daemon" if host_id == 1 else f"the run with number {host_id}"
    process = f" (process {pid})" if pid else ""
    end = f"kill {pid}" if pid else "end it"
    return (
        f"{missing} was removed or emptied while {who}{process} uses it, and {who} does not answer. "
        f"Nothing was changed. Check whether it is stopped. If not, {end} and try again. Running jobs keep running."
    )


def _grows(path: str) -> bool:
    """Whether another process is creating the database at this moment."""
    deadline = time.monotonic() + REPAIR_S
    while size_of(path) == 0 and size_of(f"{path}-wal") == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    return size_of(path) > 0


def _say_that_a_queue_begins(folder: Folder) -> None:
    sentence = (
        f"duckrow: there was no database {folder.database}, so this starts a new, empty queue. "
        f"Logs of earlier jobs are still in {folder.runs}; duckrow no longer knows these jobs.\n"
    )
    os.write(2, os.fsencode(sentence))
