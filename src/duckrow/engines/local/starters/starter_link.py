"""What a host has of a starter: a channel, and the orders that it gave."""

from __future__ import annotations

import mmap
import os
import signal
import socket
import time
from collections import deque

from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.ports import StartOrder
from duckrow.engines.local.keeper.journal import JournalWriter, Record
from duckrow.engines.local.spawner import Spawner
from duckrow.engines.local.starters.order_message import LONGEST_MESSAGE, Variables, packed, size_of
from duckrow.engines.local.starters.starter import END, OF_HOST, be_starter

_END_S, _LOOK_S = 0.25, 0.0001  # how long one may take to end, and how often we look


class StarterLink:
    def __init__(self, journal: JournalWriter, spawner: Spawner, kept_fd: int) -> None:
        """Forks. `kept_fd`: the keeper knows by this file whether starters still live."""
        self._spawner = spawner
        self._recalls = memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast("Q")  # its items are stored in one go
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)
        self._unsent: list[bytes] = []  # orders for the next message
        self._new: dict[int, Variables] = {}  # environments for it
        self._unsent_bytes = 0
        self._messages: deque[tuple[bytes, set[int]]] = deque()  # that wait for room, with which environments they have
        self._sent: set[int] = set()  # environments
        self._known: set[int] = set()  # the same, and those that will be sent
        self.orders: dict[int, StartOrder] = {}  # attempt -> its order; in their turn, until we hear of its end
        self.running: int | None = None  # the attempt that has begun, and has not ended as far as we have heard
        self.reported: int | None = None  # if it lasts so long that the loop knows that it runs
        self._heard_mono = time.monotonic()  # when we last knew that it works
        self._pid: int | None = None  # of the running attempt
        self.idle_since: float | None = None
        self.is_ending = False  # because we said so
        self._is_closed = False
        import warnings  # most runs fork nothing

        host = os.getpid()
        unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, OF_HOST)  # our handlers must not run in the starter
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python's own about threads: see `is_stuck`
                self.pid = os.fork()
            if self.pid == 0:
                be_starter(host, theirs, journal, spawner, self._recalls, kept_fd)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
            theirs.close()

    @property
    def fd(self) -> int:
        """Readable when it has nothing left to do, when an attempt has ended that took long, or when it is dead."""
        return self._control.fileno()

    @property
    def waiting(self) -> list[StartOrder]:
        """What has not begun, as far as we have heard."""
        return [order for attempt_id, order in self.orders.items() if attempt_id != self.running]

    @property
    def unreported(self) -> tuple[LiveAttempt, int] | None:
        """The running attempt and its PID, if the loop does not know that it runs."""
        if self.running is None or self.running == self.reported or self._pid is None:
            return None
        return self.orders[self.running].attempt, self._pid

    @property
    def has_short_ones(self) -> bool:
        """Whether attempts begin and end of which it does not tell."""
        return bool(self.orders) and (self.running is None or self.running != self.reported)

    def add(self, order: StartOrder, data: bytes) -> None:
        """Behind all others. It may not have it before the next `send`."""
        number = order.attempt.job.environment_id
        new = {} if number in self._known else {number: self._spawner.variables(number)}
        size = len(data) + sum(map(size_of, new.values()))
        if self._unsent_bytes + size > LONGEST_MESSAGE:
            self._pack()
        if not self.orders:
            self._heard_mono = time.monotonic()
        self.orders[order.attempt.id] = order
        self._unsent.append(data)
        self._unsent_bytes += size
        self._new |= new
        self._known |= new.keys()

    def send(self) -> bool:
        """False if not all fits into the channel. The starter tells us when it has taken all that is there."""
        self._pack()
        while self._messages:
            data, environments = self._messages[0]
            try:
                self._control.send(data)
            except BlockingIOError:
                return False
            except OSError:
                break  # it is dead
            self._messages.popleft()
            self._sent |= environments
        return True

    def _pack(self) -> None:
        if self._unsent:
            self._messages.append((packed(self._recalls[0], self._new, self._unsent), set(self._new)))
            self._unsent, self._new, self._unsent_bytes = [], {}, 0

    def recall(self) -> None:
        """Take back what has not begun. Call this with the journal's lock, when all news have been heard."""
        self._recalls[0] += 1
        self._unsent, self._new, self._unsent_bytes = [], {}, 0
        self._messages.clear()
        self._known = set(self._sent)
        for order in self.waiting:
            del self.orders[order.attempt.id]

    def heard(self, attempt_id: int, record: Record) -> None:
        """This has become of an attempt."""
        self.running = None if record.has_ended else attempt_id
        self._pid = record.pid
        self._heard_mono = time.monotonic()

    def is_stuck(self, patience_s: float) -> bool:
        """Whether it has orders, and has done nothing about them for that long.

        A fork has none of its host's other threads, and so may wait for ever for a lock that one of them had.
        """
        runs = self.running is not None and self._pid is not None
        return bool(self.orders) and not runs and time.monotonic() - self._heard_mono > patience_s

    def hear(self) -> None:
        """Its word means nothing but: look."""
        try:
            self._control.recv(64)
        except OSError:
            pass  # it is dead, which the kernel tells better

    def has_died(self) -> bool:
        """Whether it has ended. One that somebody has stopped would hold up its line, so we end it.

        The kernel keeps its PID until `close`.
        """
        changed = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WSTOPPED | os.WNOHANG | os.WNOWAIT)
        if changed is not None and changed.si_code == os.CLD_STOPPED:
            self._kill()
        return changed is not None

    def end(self) -> None:
        """When this returns, it is dead. If nothing was wrong with it, the journal names the process of its attempt."""
        if self._is_closed:
            return
        self.ask_to_end()
        patient_until = time.monotonic() + _END_S
        while not self.has_died():
            if time.monotonic() > patient_until:
                self._kill()
            time.sleep(_LOOK_S)

    def ask_to_end(self) -> None:
        """It begins nothing more."""
        self.is_ending = True
        self._recalls[0] += 1
        self._control.shutdown(socket.SHUT_RDWR)
        os.kill(self.pid, END)

    def _kill(self) -> None:
        self.is_ending = True
        os.kill(self.pid, signal.SIGKILL)
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)

    def close(self) -> None:
        """It has died."""
        self._is_closed = True
        self._control.close()
        os.waitpid(self.pid, 0)
