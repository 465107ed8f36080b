"""While a host is stopped (SIGSTOP) its keeper notes when attempts end.

The kernel does not say when a process ended that nobody has waited for yet. Without these notes, the host would take
the moment at which it continues, and count the time for which it was stopped as the job's own.
"""

from __future__ import annotations

import os
import select
import socket
import time

from duckrow.engines.local.keeper.journal import JournalWriter
from duckrow.engines.local.keeper.link import ENDED
from duckrow.kernel.process import children_of, open_pidfd


class StoppedHost:
    """The keeper's side. Those who poll for it call `look` after SIGCHLD, and `saw` with each file that is readable."""

    def __init__(self, host_pid: int, journal: JournalWriter, control: socket.socket, poller: select.poll) -> None:
        self._host_pid = host_pid
        self._journal = journal
        self._control = control
        self._poller = poller
        self._watched: dict[int, int] = {}  # pidfd -> attempt

    def look(self) -> None:
        """Find out whether the host was stopped or continues."""
        try:
            changed = os.waitid(os.P_PID, self._host_pid, os.WSTOPPED | os.WCONTINUED | os.WNOHANG)
        except ChildProcessError:
            return
        if changed is None:
            return
        for fd in list(self._watched):
            self._unwatch(fd)
        if changed.si_code == os.CLD_STOPPED:
            self._watch_attempts()

    def _watch_attempts(self) -> None:
        named = {record.pid: attempt for attempt, record in self._journal.read().items() if record.pid is not None}
        for pid in children_of(self._host_pid):
            fd = open_pidfd(pid) if pid in named else None
            if fd is not None:
                self._watched[fd] = named[pid]
                self._poller.register(fd, select.POLLIN)

    def saw(self, fd: int) -> None:
        """Tell the host, for when it continues."""
        if fd not in self._watched:
            return
        message = b"%s %d %.6f" % (ENDED, self._watched[fd], time.time())
        self._unwatch(fd)
        try:
            self._control.send(message, socket.MSG_DONTWAIT)
        except OSError:
            pass  # hundreds have ended: for these the host records the time at which it continues

    def _unwatch(self, fd: int) -> None:
        del self._watched[fd]
        self._poller.unregister(fd)
        os.close(fd)
