"""Being a host: the lock that says that we are alive, the bell that wakes us, and the other hosts."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Sequence

from duckrow.core.devices.inventory import Seat
from duckrow.core.devices.machine import Machine
from duckrow.core.errors import DuckrowError
from duckrow.kernel.process import boot_id, proc_is_ours
from duckrow.store.folder.host_lock import lost_its_database, sign
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import HostRow, HostStore, is_alive, remove, ring, try_lock, unlock
from duckrow.store.sqlite import database_lock
from duckrow.store.sqlite.database import Database

_INTRODUCTION_S = 2.0


class AlreadyRunning(DuckrowError):
    """Another process is this host."""


class Host:
    def __init__(self, folder: Folder, database: Database, host_id: int) -> None:
        if not proc_is_ours():
            raise DuckrowError(
                "duckrow cannot see its own processes: /proc here shows another PID namespace. "
                "Mount it again: mount -t proc proc /proc (with unshare: --mount-proc)."
            )
        self.folder = folder
        self.id = host_id
        self.rows = HostStore(database)
        lock = try_lock(folder, host_id)
        if lock is None:
            raise AlreadyRunning(self._who_is_it(host_id))
        self._lock = lock
        self.database_fd = self._lock_within_database(database)
        sign(lock)
        self.previous: HostRow = self.rows.get(host_id)
        self.boot_id = boot_id()
        self.bell = self._open_bell()
        self.others: list[int] = []

    def _lock_within_database(self, database: Database) -> int:
        """The lock that cannot be removed; taken while somebody has removed the other one."""
        fd = database_lock.take(database.path, self.id)
        if fd is None:
            unlock(self.folder, self.id, self._lock)
            raise AlreadyRunning(self._who_is_it(self.id))
        return fd

    def _who_is_it(self, host_id: int) -> str:
        lost = lost_its_database(self.folder, host_id)
        if lost:
            return f"Process {lost} still uses a database that was removed or replaced. End it: kill {lost}"
        return f"It is already running (process {self._pid_of_other(host_id)})."

    def _pid_of_other(self, host_id: int) -> int | None:
        """One that has taken the lock just now may not have said yet who it is."""
        deadline = time.monotonic() + _INTRODUCTION_S
        while (pid := self.rows.get(host_id).pid) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return pid

    def _open_bell(self) -> int:
        path = self.folder.host_fifo(self.id)
        remove(path)
        os.mkfifo(path, 0o600)
        # Read and write, so that it never ends when the last who rang it has gone.
        return os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def mend_lock(self) -> bool:
        """Lock the lock file again, if somebody has removed it. Nobody else can be this host meanwhile."""
        path = self.folder.host_lock(self.id)
        if os.path.exists(path) and os.path.samestat(os.fstat(self._lock), os.stat(path)):
            return False
        lock = try_lock(self.folder, self.id)
        if lock is None:  # somebody who tries to be this host: in a moment they see that they cannot
            raise OSError(errno.EAGAIN, "another process has it", path)
        os.close(self._lock)
        self._lock = lock
        sign(lock)
        return True

    def renew_bell(self) -> None:
        os.close(self.bell)
        self.bell = self._open_bell()

    def announce(self, seats: Sequence[Seat], machine: Machine) -> None:
        """From here on others see us, and what we may give out."""
        self.rows.open(self.id, seats, machine)
        self.look_around()
        self.ring_others()

    def hush(self) -> None:
        """Take in the rings so far."""
        try:
            os.read(self.bell, 4096)
        except BlockingIOError:
            pass

    def look_around(self) -> None:
        """Learn which other hosts there are."""
        self.others = [row.id for row in self.rows.open_hosts() if row.id != self.id]

    def ring_others(self) -> None:
        for host_id in self.others:
            ring(self.folder, host_id)

    def is_alive(self, host_id: int) -> bool:
        return host_id == self.id or is_alive(self.folder, host_id)

    def close(self) -> None:
        """End in good order."""
        self.rows.close(self.id)
        self.release()

    def release(self) -> None:
        """Be no host any more; for the others this is like a death."""
        fifo = self.folder.host_fifo(self.id)
        if os.path.exists(fifo) and os.path.samestat(os.fstat(self.bell), os.stat(fifo)):
            remove(fifo)
        os.close(self.bell)
        unlock(self.folder, self.id, self._lock)
        database_lock.let_go(self.database_fd, self.id)
