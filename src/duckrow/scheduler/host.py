"""Being a host: the lock that says we live, the bell that wakes us, and the other hosts around us."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from duckrow.core.errors import DuckrowError
from duckrow.core.inventory import Seat
from duckrow.core.machine import Machine
from duckrow.kernel.process import boot_id, proc_is_ours
from duckrow.store.database import Database
from duckrow.store.folder import Folder
from duckrow.store.hosts import HostRow, HostStore, is_alive, remove, ring, try_lock, unlock

_INTRODUCTION_S = 2.0


class AlreadyRunning(DuckrowError):
    """Another process is this host."""


class Host:
    def __init__(self, folder: Folder, database: Database, host_id: int) -> None:
        if not proc_is_ours():
            raise DuckrowError(
                "duckrow cannot see its own processes: /proc here shows another PID namespace. "
                "Mount it anew: mount -t proc proc /proc (with unshare: --mount-proc)."
            )
        self.folder = folder
        self.id = host_id
        self.rows = HostStore(database)
        lock = try_lock(folder, host_id)
        if lock is None:
            raise AlreadyRunning(f"It is running already, as process {self._pid_of_other(host_id)}.")
        self._lock = lock
        self.previous: HostRow = self.rows.get(host_id)
        self.boot_id = boot_id()
        self.bell = self._open_bell()
        self.others: list[int] = []

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
        remove(self.folder.host_fifo(self.id))
        os.close(self.bell)
        unlock(self.folder, self.id, self._lock)
