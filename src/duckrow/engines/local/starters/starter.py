"""A starter: starts the attempts of a line one after the other, and writes down how each of them ended.

It ends when its host dies or wants it to, and whenever anything is not as usual. The host, or the keeper, then gets
its children, as the kernel gives them to the nearest ancestor that asked for them, and goes by the journal. So it never
ends between the start of a process and the line that names it, unless somebody kills it.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import time
from functools import partial

from duckrow.core.ports import StartOrder
from duckrow.engines.local.keeper.journal import LEFT, SILENT, SPOKE, JournalWriter, wait_status
from duckrow.engines.local.spawner import Spawner
from duckrow.engines.local.starters.order_message import LONGEST_MESSAGE, unpacked
from duckrow.kernel.own_files import close_all_but
from duckrow.kernel.parentage import adopt_orphans, signal_when_it_dies
from duckrow.kernel.process import ChildrenList

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from typing import NoReturn

LOOK_S = 0.01
"""How often the host looks by itself for ends of jobs, at least. It is told of those of jobs that last longer."""

END = signal.SIGUSR2
"""From its host: end now."""

_AWAITED = (signal.SIGCHLD, END)

OF_HOST = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP)


def be_starter(
    host: int, control: socket.socket, journal: JournalWriter, spawner: Spawner, recalls: memoryview, kept_fd: int
) -> NoReturn:
    """Call this in a fork of the host, with `OF_HOST` blocked.

    `kept_fd`: the keeper knows by this file whether starters still live.
    """
    try:
        adopt_orphans()
        _leave_signals_to_host()
        if signal_when_it_dies(host, END):
            assert journal.lock.fd is not None
            close_all_but(control.fileno(), journal.fd, journal.lock.fd, spawner.null, kept_fd)
            gc.disable()  # a collection would touch, and so copy, all memory that we share with the host
            journal.leave_repair()
            journal.note_starter(os.getpid())
            spawner.forget_host()
            _work(_Starter(host, control, journal, spawner, recalls))
            spawner.close()
    except OSError:
        pass  # the host notices that we have ended
    except BaseException:
        sys.__excepthook__(*sys.exc_info())  # which needs no module and no file
    finally:
        os._exit(0)  # whatever happens: nobody may run the host's code a second time, in this process


def _work(starter: _Starter) -> None:
    try:
        starter.work()
    except (OSError, ValueError):
        pass  # the host tries the same, and says what is wrong


class _Starter:
    def __init__(
        self, host: int, control: socket.socket, journal: JournalWriter, spawner: Spawner, recalls: memoryview
    ) -> None:
        self._host = host
        self._control = control
        self._journal = journal
        self._spawner = spawner
        self._recalls = recalls
        self._children = ChildrenList()

    def work(self) -> None:
        """Until we must end, the host has no more use for us, or an attempt leaves processes behind."""
        while data := self._next_message():
            recalls, environments, orders = unpacked(data)
            for number, variables in environments.items():
                self._spawner.learn_variables(number, variables)
            is_recalled = partial(self._has_recalled_since, recalls)
            for order in orders:
                if not self._journal.begin_unless(is_recalled, order.attempt.id):
                    break
                if not self._run(order):
                    return

    def _has_recalled_since(self, recalls: int) -> bool:
        return bool(self._recalls[0] != recalls) or os.getppid() != self._host

    def _next_message(self) -> bytes:
        try:
            return self._control.recv(3 * LONGEST_MESSAGE, socket.MSG_DONTWAIT)
        except BlockingIOError:
            self._tell_host()  # that there is nothing left to do
            return self._control.recv(3 * LONGEST_MESSAGE)

    def _run(self, order: StartOrder) -> bool:
        """False if we must end; what runs, and what it left behind, is then the business of the host."""
        attempt_id = order.attempt.id
        began = time.monotonic()
        pid = self._spawner.start(order)
        self._journal.started(attempt_id, pid)
        ended = _awaited(pid)
        if ended is None:
            return False
        left = self._children.count() > 1
        how = LEFT if left else SILENT if self._spawner.keep_folder(attempt_id) else SPOKE
        self._journal.note_end(attempt_id, wait_status(ended), how)
        os.waitpid(pid, 0)
        if time.monotonic() - began > LOOK_S:
            self._tell_host()
        return not left

    def _tell_host(self) -> None:
        self._control.send(b".")


def _awaited(pid: int) -> os.waitid_result | None:
    """How it has ended, while it keeps its PID; None: we must end."""
    while True:
        if signal.sigwait(_AWAITED) == END:
            return None
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is not None:
            return ended


def _leave_signals_to_host() -> None:
    """A terminal signals all of us. What is not ignored but handled, jobs do not inherit."""
    signal.set_wakeup_fd(-1)
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in OF_HOST:
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, OF_HOST)
