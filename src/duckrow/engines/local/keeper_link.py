"""What a host has of its keeper: the journal that both write, and a channel."""

from __future__ import annotations

import array
import errno
import os
import socket
from collections import deque
from typing import NamedTuple

from duckrow.engines.local.journal import JournalWriter

TOOK, REFUSED, EMPTIED = b"took", b"refused", b"emptied"
"""What the keeper answers when it is handed a pipe, and tells when that is empty to its end."""

LOG, JOURNAL = b"log", b"journal"
"""What the host hands over: the reading end of an attempt's pipe, or a journal that it had to make anew."""


class LogPipe(NamedTuple):
    """The reading end of an attempt's output, held by the host too: if the keeper dies, nobody gets SIGPIPE."""

    reading: int
    log: str
    cap: int


class KeeperLink:
    def __init__(self, journal: JournalWriter, control: socket.socket, keeper_pid: int) -> None:
        self.journal = journal
        self._control = control
        self.keeper_pid = keeper_pid
        self.pipes: dict[int, LogPipe] = {}  # by attempt
        self._told: deque[bytes] = deque()  # what came while we waited for an answer
        journal.on_new_file = self._hand_over_journal

    @property
    def fd(self) -> int:
        """Readable when the keeper has something to tell."""
        return self._control.fileno()

    @property
    def has_news(self) -> bool:
        return bool(self._told)

    def hand_over(self, attempt_id: int, reading: int, log: str, cap: int) -> None:
        """Have the keeper empty this pipe into a capped log, so that the log outlives the host.

        Raises OSError if it cannot; the reading end is the link's from now on.
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
        """The next attempt whose log is complete; None: the keeper is dead."""
        message = self._told.popleft() if self._told else self._receive()
        if not message:
            return None
        attempt_id = int(message.split()[1])
        pipe = self.pipes.pop(attempt_id, None)
        if pipe is not None:
            os.close(pipe.reading)
        return attempt_id

    def _answer(self) -> int:
        while True:
            message = self._receive()
            words = message.split()
            if not words:
                return errno.EAGAIN  # the keeper is dead, and soon we are its heir
            if words[0] == EMPTIED:
                self._told.append(message)
            else:
                return 0 if words[0] == TOOK else int(words[1])

    def _receive(self) -> bytes:
        try:
            return self._control.recv(64)
        except OSError:
            return b""

    def _send(self, message: bytes, fd: int) -> None:
        self._control.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
