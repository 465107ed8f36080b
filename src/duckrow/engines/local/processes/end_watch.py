"""Calls when a process ends, as the kernel tells it."""

from __future__ import annotations

import os
from collections.abc import Callable

from duckrow.core.ports import Reactor
from duckrow.kernel.process import open_pidfd, open_pidfd_of


class EndWatch:
    def __init__(self, reactor: Reactor) -> None:
        self._reactor = reactor

    def watch(self, pid: int, call: Callable[[], None]) -> bool:
        """False if it has ended, or this kernel does not tell."""
        return self._watch(open_pidfd(pid), call)

    def watch_exactly(self, identity: str, call: Callable[[], None]) -> bool:
        """Likewise; no other process that gets its PID is meant."""
        return self._watch(open_pidfd_of(identity), call)

    def _watch(self, fd: int | None, call: Callable[[], None]) -> bool:
        if fd is None:
            return False

        def ended() -> None:
            self._reactor.unwatch(fd)
            os.close(fd)
            call()

        self._reactor.watch(fd, ended)
        return True
