"""A host: the lock that shows that it is alive, the bell that wakes it, and the other hosts."""

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
        """The lock inside the database, which nobody can remove; held in case somebody removes the lock file."""
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
        """The PID of the holder. One that has just taken the lock may not have written its PID yet."""
        deadline = time.monotonic() + _INTRODUCTION_S
        while (pid := self.rows.get(host_id).pid) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return pid

    def _open_bell(self) -> int:
        path = self.folder.host_fifo(self.id)
        remove(path)
        os.mkfifo(path, 0o600)
        # Open for reading and writing, so that it does not end when the last writer closes it.
        return os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def mend_lock(self) -> bool:
        """Lock the lock file again, if somebody has removed it. Nobody else can be this host meanwhile."""
        path = self.folder.host_lock(self.id)
        if os.path.exists(path) and os.path.samestat(os.fstat(self._lock), os.stat(path)):
            return False
        lock = try_lock(self.folder, self.id)
        if lock is None:  # a process that tries to become this host: it will soon see that it cannot
            raise OSError(errno.EAGAIN, "another process has it", path)
        os.close(self._lock)
        self._lock = lock
        sign(lock)
        return True

    def renew_bell(self) -> None:
        os.close(self.bell)
        self.bell = self._open_bell()

    def announce(self, seats: Sequence[Seat], machine: Machine) -> None:
        """From now on others see us and our devices."""
        self.rows.open(self.id, seats, machine)
        self.look_around()
        self.ring_others()

    def hush(self) -> None:
        """Clear the bell."""
        try:
            os.read(self.bell, 4096)
        except BlockingIOError:
            pass

    def look_around(self) -> None:
        """Find the other hosts."""
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
        """Stop being a host. To the others this looks like a death."""
        fifo = self.folder.host_fifo(self.id)
        if os.path.exists(fifo) and os.path.samestat(os.fstat(self.bell), os.stat(fifo)):
            remove(fifo)
        os.close(self.bell)
        unlock(self.folder, self.id, self._lock)
        database_lock.let_go(self.database_fd, self.id)
