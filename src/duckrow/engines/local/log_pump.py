"""Copies the output of attempts from their pipes into their capped logs."""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Callable

from duckrow.engines.local.capped_log import CappedLog

_READ_BYTES = 1 << 18


class LogPump:
    """`on_end` is called for each attempt whose pipe is empty and no longer has a writer."""

    def __init__(self, poller: select.poll, on_end: Callable[[int], None]) -> None:
        self._poller = poller
        self._on_end = on_end
        self._pipes: dict[int, tuple[int, CappedLog]] = {}  # reading end -> (attempt, log)

    def __len__(self) -> int:
        return len(self._pipes)

    @property
    def fds(self) -> list[int]:
        return [fd for reading, (_, log) in self._pipes.items() for fd in (reading, log.fd)]

    def take(self, reading: int, attempt_id: int, path: str, cap: int) -> int:
        """0, or an errno that says why it cannot be done."""
        try:
            log = CappedLog(path, cap)
        except OSError as error:
            return error.errno or errno.EIO
        os.set_blocking(reading, False)
        self._pipes[reading] = (attempt_id, log)
        self._poller.register(reading, select.POLLIN)
        return 0

    def use(self, poller: select.poll) -> None:
        """Watch the pipes with this poller from now on."""
        self._poller = poller
        for fd in self._pipes:
            poller.register(fd, select.POLLIN)

    def pump(self, fd: int) -> None:
        if fd not in self._pipes:
            return
        attempt_id, log = self._pipes[fd]
        try:
            data = os.read(fd, _READ_BYTES)
        except BlockingIOError:
            return
        if data:
            try:
                log.write(data)
            except OSError:
                pass  # disk full: output is lost, the job is not
            return
        self._poller.unregister(fd)
        os.close(fd)
        log.close()
        del self._pipes[fd]
        self._on_end(attempt_id)
