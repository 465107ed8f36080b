"""The locks that show that a host is alive: a file in `hosts/`, and a byte of the database.

The kernel releases both when the host's process ends, however it ends. A host of this version holds both. If its lock
file is gone but its byte is held, somebody removed the file. If it holds only the file, it has lost its database.

After a host was killed, they may stay locked for a moment: some of its threads may still be ending, and a job that it
was just starting holds all its files until it becomes its own program. So a process that finds the locks taken checks
whether their process exists, and waits if it does not.
"""

from __future__ import annotations

import fcntl
import os
import time

from duckrow.kernel.process import has_ended, identity_of, our_pid_space, space_in
from duckrow.store.folder.state_folder import Folder
from duckrow.store.sqlite import database_lock

_LOOKING_S = 5.0  # how long others that only check whether a host is alive may keep it from its lock
_STARTING_S = 2.0  # how long a job whose host was killed may hold its locks
_PID_BYTES = 32  # of the lock file; the unique name of the process follows


def try_lock(folder: Folder, host_id: int) -> int | None:
    """The lock file, open and locked; None: another process holds it."""
    path = folder.host_lock(host_id)
    deadline = time.monotonic() + _LOOKING_S
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if not _lock(fd, fcntl.LOCK_EX):
            will_be_free = _lock(fd, fcntl.LOCK_SH) or _was_killed(fd)
            os.close(fd)
            if not will_be_free or time.monotonic() > deadline:
                return None
            time.sleep(0.001)
            continue
        # Its last holder may have removed the file after we opened it and before we locked it.
        if os.path.exists(path) and os.path.samestat(os.fstat(fd), os.stat(path)):
            _await_byte(folder, host_id, fd, deadline)
            os.ftruncate(fd, 0)  # a host that was killed has left its PID
            return fd
        os.close(fd)


def _lock(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
        return True
    except OSError:
        return False


def _await_byte(folder: Folder, host_id: int, fd: int, deadline: float) -> None:
    """A job that holds the lock file of a killed host releases the byte just after it."""
    while database_lock.is_taken(folder.database, host_id) and _was_killed(fd) and time.monotonic() < deadline:
        time.sleep(0.001)


def _was_killed(fd: int) -> bool:
    """Whether the process that signed this lock file is gone or ending; False if it is not visible from here."""
    process = os.pread(fd, 200, _PID_BYTES).decode(errors="replace").strip()
    return space_in(process) == our_pid_space() and has_ended(process)


def unlock(folder: Folder, host_id: int, fd: int) -> None:
    path = folder.host_lock(host_id)
    # Only our own: if somebody removed it, the file that has its name now is not ours.
    if os.path.exists(path) and os.path.samestat(os.fstat(fd), os.stat(path)):
        remove(path)
    os.close(fd)


def remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # it is gone, or the file system is read-only


def sign(lock: int) -> None:
    """Record which process we are, for those who cannot read the database."""
    os.pwrite(lock, f"{os.getpid()}\n".ljust(_PID_BYTES).encode() + identity_of(os.getpid()).encode(), 0)


def is_alive(folder: Folder, host_id: int) -> bool:
    """Whether some process is this host of this database."""
    deadline = time.monotonic() + _STARTING_S
    while _is_taken(folder, host_id):
        if not _only_its_job_is_left(folder, host_id) or time.monotonic() > deadline:
            return True
        time.sleep(0.001)
    return False


def _only_its_job_is_left(folder: Folder, host_id: int) -> bool:
    try:
        fd = os.open(folder.host_lock(host_id), os.O_RDONLY)
    except OSError:
        return False  # somebody removed the file
    try:
        return _was_killed(fd)
    finally:
        os.close(fd)


def _is_taken(folder: Folder, host_id: int) -> bool:
    if database_lock.is_taken(folder.database, host_id):
        return True
    pid = lock_file_holder(folder, host_id)
    return pid == 0  # a host that has signed holds the byte too, or has lost its database


def lost_its_database(folder: Folder, host_id: int) -> int | None:
    """The PID of a living host that uses a database that no longer has this name; None: there is none."""
    pid = lock_file_holder(folder, host_id)
    return pid if pid and not database_lock.is_taken(folder.database, host_id) else None


def lock_file_holder(folder: Folder, host_id: int) -> int | None:
    """The PID of the process that holds the lock file; 0: it has not signed it; None: nobody holds it.

    Asks with a shared lock, so that two that ask do not mistake each other for the host.
    """
    try:
        fd = os.open(folder.host_lock(host_id), os.O_RDONLY)
    except OSError:
        return None
    try:
        if _lock(fd, fcntl.LOCK_SH):
            return None
        text = os.read(fd, _PID_BYTES).strip()
        return int(text) if text.isdigit() else 0
    finally:
        os.close(fd)


def holders(folder: Folder) -> dict[int, int]:
    """The PID (0: unknown) of each host whose lock file is held, by the host's id. Needs no database."""
    try:
        names = os.listdir(folder.hosts)
    except OSError:
        return {}
    ids = [int(name[:-5]) for name in names if name.endswith(".lock") and name[:-5].isdigit()]
    found = {host_id: lock_file_holder(folder, host_id) for host_id in sorted(ids)}
    return {host_id: pid for host_id, pid in found.items() if pid is not None}
