"""What a host has of its keeper: the journal that both write, and a channel."""

from __future__ import annotations

import array
import errno
import os
import signal
import socket
from collections import deque

from duckrow.core.named_tuple import NamedTuple
from duckrow.engines.local.keeper.journal import JournalWriter
from duckrow.engines.local.keeper.signal_link import HostEnd

TOOK, REFUSED, EMPTIED, ENDED = b"took", b"refused", b"emptied", b"ended"
"""What the keeper says: that it has a pipe, that a pipe is read to its end, that an attempt ended."""

LOG, JOURNAL = b"log", b"journal"
"""What the host hands over: the reading end of an attempt's pipe, or a journal that it had to create again."""


class LogPipe(NamedTuple):
    """The reading end of an attempt's output, held by the host too: if the keeper dies, nobody gets SIGPIPE."""

    reading: int
    log: str
    cap: int


class KeeperLink:
    def __init__(self, journal: JournalWriter, control: socket.socket, signals: HostEnd, keeper_pid: int) -> None:
        self.journal = journal
        self._control = control
        self.signals = signals
        self.keeper_pid = keeper_pid
        self.pipes: dict[int, LogPipe] = {}  # by attempt
        self._told: deque[int] = deque()  # attempts whose log is complete, heard of while we asked for something else
        self._was_stopped = False
        self._ends: dict[int, float] = {}  # attempt -> when it ended, if we were stopped then
        signal.signal(signal.SIGCONT, lambda *_: self._went_on())
        journal.on_new_file = self._hand_over_journal

    @property
    def fd(self) -> int:
        """Readable when the keeper has something to tell."""
        return self._control.fileno()

    @property
    def has_news(self) -> bool:
        """Whether we have heard of something that `emptied` has not returned yet."""
        return bool(self._told)

    def hand_over(self, attempt_id: int, reading: int, log: str, cap: int) -> None:
        """Let the keeper read this pipe into a capped log, so that the log outlives the host.

        Raises OSError if it cannot. From now on, the link owns the reading end.
        """
        path = log.encode("utf-8", "surrogateescape")
        try:
            self._send(b"%s %d %d %s" % (LOG, attempt_id, cap, path), reading)
            refusal = self._answer()
        except BaseException:
            os.close(reading)
            raise
        if refusal:
            os.close(reading)
            raise OSError(refusal, os.strerror(refusal), log)
        self.pipes[attempt_id] = LogPipe(reading, log, cap)

    def _hand_over_journal(self, fd: int) -> None:
        try:
            self._send(JOURNAL, fd)
        except OSError:
            pass  # the keeper is dead, and soon we are its heir

    def emptied(self) -> int | None:
        """An attempt whose log is complete; 0 if the keeper had something else to tell, None if it is dead."""
        attempt_id = self._told.popleft() if self._told else self._take_in(self._receive())
        pipe = self.pipes.pop(attempt_id or 0, None)
        if pipe is not None:
            os.close(pipe.reading)
        return attempt_id

    def ended_at(self, attempt_id: int) -> float | None:
        """When an attempt of ours ended, if that was while we were stopped and the keeper was not."""
        if self._was_stopped:
            self._was_stopped = False
            while message := self._receive(socket.MSG_DONTWAIT):
                self._told.extend(filter(None, [self._take_in(message)]))
        return self._ends.pop(attempt_id, None)

    def _went_on(self) -> None:
        self._was_stopped = True

    def _answer(self) -> int:
        while True:
            message = self._receive()
            words = message.split()
            if not words:
                return errno.EAGAIN  # the keeper is dead, and soon we are its heir
            if words[0] in (TOOK, REFUSED):
                return 0 if words[0] == TOOK else int(words[1])
            self._told.extend(filter(None, [self._take_in(message)]))

    def _take_in(self, message: bytes) -> int | None:
        """The attempt whose log is complete; 0: it was something else; None: the keeper is dead."""
        match message.split():
            case [word, attempt_id] if word == EMPTIED:
                return int(attempt_id)
            case [word, attempt_id, at] if word == ENDED:
                self._ends[int(attempt_id)] = float(at)
                return 0
            case _:
                return None

    def _receive(self, flags: int = 0) -> bytes:
        try:
            return self._control.recv(64, flags)
        except OSError:
            return b""

    def _send(self, message: bytes, fd: int) -> None:
        self._control.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
