"""How a keeper tells its host of signals: through a socket, because a second signal would look like the first."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator

from duckrow.engines.local.keeper.signal_counting import SentSignals

HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR2, signal.SIGCHLD)

_ALL_TOLD = 0  # in place of the number of a signal
_SI_KERNEL = 0x80  # the sender: not a process but a terminal
_INFO_BYTES = 128  # of struct signalfd_siginfo, which begins with the number, an error and the sender
_MOST_MESSAGES = 4096


class HostEnd:
    """The host's end."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._end = end

    @property
    def fd(self) -> int:
        return self._end.fileno()

    def ask(self) -> None:
        """Ask the keeper to tell us of signals instead of sending them, and to say when it has told all so far."""
        try:
            self._end.send(b"?")
        except OSError:
            pass  # the keeper is dead, or has been stopped for very long

    def news(self) -> int | None:
        """A signal that the keeper has heard; 0: it has told all; None: it is dead."""
        try:
            message = self._end.recv(1)
        except BlockingIOError:
            return _ALL_TOLD
        except OSError:
            return None
        return message[0] if message else None


class KeeperEnd:
    """The keeper's end. It also reads the signals."""

    def __init__(self, end: socket.socket, host_pid: int, now: Callable[[], float] = time.monotonic) -> None:
        end.setblocking(False)
        self._end = end
        self._host_pid = host_pid
        self._now = now
        self._sent = SentSignals()
        self._host_listens = False
        self.told_to_end = False
        self.ear = _signal_file(HEARD)

    @property
    def fd(self) -> int:
        return self._end.fileno()

    def hear(self) -> None:
        """Tell the host of what has been heard."""
        for number, by_terminal in _heard(self.ear):
            self.told_to_end |= number in (signal.SIGINT, signal.SIGTERM)
            if number == signal.SIGCHLD or not self._sent.is_new(number, by_terminal, self._now()):
                continue
            if self._host_listens:
                self._tell(number)
            elif number == signal.SIGHUP or not by_terminal:
                os.kill(
                    self._host_pid, number
                )  # a signal must be able to end the host while it starts, even if it waits for a lock

    def answer(self) -> bool:
        """Answer the host; whether it is still there."""
        try:
            asked = self._end.recv(_MOST_MESSAGES)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if asked:
            self._host_listens = True
            self.hear()  # what was sent before it asked is told before the answer
            self._tell(_ALL_TOLD)
        return bool(asked)

    def _tell(self, number: int) -> None:
        try:
            self._end.send(bytes([number]))
        except OSError:
            pass  # it is ending, or it has been stopped and has thousands to read


def signal_link() -> tuple[socket.socket, socket.socket]:
    """The keeper's end and the host's."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _signal_file(numbers: Iterable[int]) -> int:
    """A file in which these signals, which must be blocked, can be read."""
    libc = ctypes.CDLL(None, use_errno=True)
    wanted = ctypes.create_string_buffer(_INFO_BYTES)
    libc.sigemptyset(wanted)
    for number in numbers:
        libc.sigaddset(wanted, number)
    fd = int(libc.signalfd(-1, wanted, os.O_NONBLOCK | os.O_CLOEXEC))
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "signalfd")
    return fd


def _heard(ear: int) -> Iterator[tuple[int, bool]]:
    """Each signal that has come: its number, and whether the terminal has sent it."""
    while True:
        try:
            info = os.read(ear, _INFO_BYTES)
        except BlockingIOError:
            return
        number, _, code = struct.unpack_from("=Iii", info)
        yield number, code == _SI_KERNEL
