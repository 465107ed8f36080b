"""Checks the state folder: is a file that a live host uses missing or replaced?"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from duckrow.api.machine.finding import PROBLEM, WARN, Finding
from duckrow.store.folder.host_lock import holders, is_alive, lock_file_holder, lost_its_database
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON
from duckrow.store.sqlite.before_opening import RESCUED, has_remains, living_host, missing_files
from duckrow.store.sqlite.database_files import size_of


def file_faults(folder: Folder) -> Iterator[Finding]:
    """Nothing, if all is well. It opens nothing that SQLite would create or change."""
    if not os.path.isdir(folder.root):
        return
    yield from _hosts_without_database(folder)
    host = living_host(folder)
    if host is None:
        yield from _no_database(folder)
    else:
        yield from _missing_under_host(folder, *host)
        yield from _missing_of_hosts(folder, {*holders(folder), host[0]})
    yield from _rescued(folder)


def _named(host_id: int, pid: int | None) -> str:
    return ("the daemon" if host_id == DAEMON else f"run {host_id}") + (f" (process {pid})" if pid else "")


def _hosts_without_database(folder: Folder) -> Iterator[Finding]:
    for host_id in holders(folder):
        pid = lost_its_database(folder, host_id)
        if pid:
            found = f"{_named(host_id, pid)} uses a database that was removed or replaced"
            yield Finding(
                "host", PROBLEM, found, f"It should have ended by itself. kill {pid}; its running jobs keep running."
            )


def _missing_under_host(folder: Folder, host_id: int, pid: int) -> Iterator[Finding]:
    for path in missing_files(folder):
        found = f"{path} was removed or emptied while {_named(host_id, pid)} uses it"
        advice = f"It repairs this by itself, or ends. If it does not: kill {pid or 'it'}, then duckrow doctor again."
        yield Finding("files", PROBLEM, found, advice)


def _missing_of_hosts(folder: Folder, hosts: set[int]) -> Iterator[Finding]:
    """The lock and the bell of each live host."""
    for host_id in sorted(hosts):
        if not is_alive(folder, host_id):
            continue
        pid = lock_file_holder(folder, host_id)
        if pid is None:
            found = f"{folder.host_lock(host_id)} was removed, but {_named(host_id, pid)} is alive"
            yield Finding("lock", PROBLEM, found, "It recreates it by itself. If not: duckrow down; duckrow up.")
        if not _can_be_rung(folder.host_fifo(host_id)):
            found = f"{folder.host_fifo(host_id)} was removed or replaced: {_named(host_id, pid)} misses new jobs"
            yield Finding("bell", PROBLEM, found, "It recreates it by itself. If not: duckrow down; duckrow up.")


def _can_be_rung(fifo: str) -> bool:
    try:
        if not stat.S_ISFIFO(os.stat(fifo).st_mode):
            return False
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        return True
    except OSError:
        return False


def _no_database(folder: Folder) -> Iterator[Finding]:
    path = folder.database
    if size_of(path) or not has_remains(folder) or os.path.exists(path + RESCUED):
        return
    if os.path.exists(path):
        advice = f"Put a copy of it back, or start a new queue: mv {path} {path}.damaged"
        yield Finding("database", PROBLEM, f"{path} is empty, but there are folders of earlier jobs", advice)
    else:
        advice = (
            f"If you did not remove it, put it back. The next command starts a new queue; logs are in {folder.runs}."
        )
        yield Finding("database", WARN, f"{path} is gone, but there are folders of earlier jobs", advice)


def _rescued(folder: Folder) -> Iterator[Finding]:
    path, saved = folder.database, folder.database + RESCUED
    if not os.path.exists(saved):
        return
    if size_of(path):
        advice = f"If your jobs are in {path}, remove it."
        yield Finding("database", WARN, f"{saved} is a copy of a database that was lost while it was in use", advice)
    else:
        advice = f"mv {saved} {path}, then duckrow up, brings your jobs back; rm {saved} starts a new queue."
        yield Finding("database", PROBLEM, f"{path} was removed while it was in use; it was saved", advice)
