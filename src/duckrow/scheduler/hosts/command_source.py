"""Commands as they arrive on a file or a pipe."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from duckrow.core.jobs.command_list import CommandList
from duckrow.core.jobs.commands import CommandReader
from duckrow.core.ports import Reactor

_CHUNK_BYTES = 1 << 16


class CommandSource:
    """Reads without ever waiting; hands on each batch of complete commands."""

    def __init__(self, fd: int, reader: CommandReader, take: Callable[[CommandList], None]) -> None:
        self.fd = fd
        self._reader = reader
        self._take = take
        self._bytes = b""
        self.is_file = stat.S_ISREG(os.fstat(fd).st_mode)
        self._reactor: Reactor | None = None
        self.ended = False
        self.is_whole = False  # it was read to its end
        self.is_terminal = os.isatty(fd)

    def attach(self, reactor: Reactor) -> None:
        self._reactor = reactor
        if self.is_file:
            self._read()
        else:
            try:
                reactor.watch(self.fd, self._read)
            except OSError:  # /dev/null and similar files are always readable and cannot be watched
                self.is_file = True
                self._read()

    def stop(self) -> None:
        """Read no more."""
        if not self.ended:
            self.ended = True
            if self._reactor is not None and not self.is_file:
                self._reactor.unwatch(self.fd)

    def _read(self) -> None:
        if self.ended or self._reactor is None:
            return
        try:
            data = os.read(self.fd, _CHUNK_BYTES)
        except OSError:  # the terminal is gone
            data = None
        if not data:
            self.is_whole = data is not None
            self._take(self._reader.read(os.fsdecode(self._bytes), final=True))
            self.stop()
            return
        # Decoded by whole lines: a chunk may end within a character.
        lines, newline, rest = (self._bytes + data).rpartition(b"\n")
        self._bytes = rest
        if newline:
            self._take(self._reader.read(os.fsdecode(lines + newline)))
        if self.is_file:
            self._reactor.later(0, self._read)
