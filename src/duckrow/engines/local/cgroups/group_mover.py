"""Moves attempts that last into cgroups of their own, outside the loop.

The first move in a while takes 6 to 14 ms, because the kernel makes sure that nobody forks. Moves right after it take
0.02 ms. So attempts of less than a second stay where they are. A thread moves the others together, at most once a
second.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from itertools import takewhile

from duckrow.core.named_tuple import NamedTuple
from duckrow.core.ports import Reactor
from duckrow.engines.local.cgroups.attempt_group import AttemptGroup
from duckrow.engines.local.cgroups.cgroups import Cgroups
from duckrow.engines.local.cgroups.group_moving import move_tree
from duckrow.kernel.process import open_pidfd_of, pid_in

TYPE_CHECKING = False  # that of typing takes longer to load than this module
if TYPE_CHECKING:
    from threading import Thread

OLD_ENOUGH_S = 1.0


class _Candidate(NamedTuple):
    attempt_id: int
    tag: str
    process: str  # identifies its first process, even if its PID is reused
    due: float


class Mover:
    """`moved` is called in the loop for each attempt that got a group, also if it has ended meanwhile."""

    def __init__(self, reactor: Reactor, keepers_folder: str, moved: Callable[[int, AttemptGroup], None]) -> None:
        self._reactor = reactor
        self._keepers = keepers_folder
        self._moved = moved
        self._waiting: dict[int, _Candidate] = {}  # by attempt, the oldest first
        self._is_armed = False
        self._cgroups: Cgroups | None = None
        self._is_found = False
        self._is_swept = False
        self._thread: Thread | None = None
        self._done: deque[tuple[int, AttemptGroup]] = deque()
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        reactor.watch(self._bell, self._hear)

    def expect(self, attempt_id: int, tag: str, process: str) -> None:
        """Move this attempt if it is still running in a second. Cheap: one entry in a dictionary."""
        if self._is_found and self._cgroups is None:
            return
        self._waiting[attempt_id] = _Candidate(attempt_id, tag, process, time.monotonic() + OLD_ENOUGH_S)
        self._arm(OLD_ENOUGH_S)

    def forget(self, attempt_id: int) -> None:
        """It has ended."""
        self._waiting.pop(attempt_id, None)

    def cgroups(self) -> Cgroups | None:
        """Searched for at the first call; most short jobs never need it."""
        if not self._is_found:
            self._cgroups, self._is_found = Cgroups.find(self._keepers), True
            if self._cgroups is None:
                self._waiting.clear()
        return self._cgroups

    def close(self) -> None:
        self._take_in()
        self._reactor.unwatch(self._bell)
        os.close(self._bell)

    def _arm(self, seconds: float) -> None:
        if not self._is_armed:
            self._is_armed = True
            self._reactor.later(seconds, self._look)

    def _look(self) -> None:
        self._is_armed = False
        if self._thread is None:
            self._begin(self._take_due())
        if self._waiting:
            self._arm(OLD_ENOUGH_S)

    def _take_due(self) -> list[tuple[_Candidate, int]]:
        """The attempts to move, each with a pidfd: their PIDs may be reused later."""
        now = time.monotonic()
        due = list(takewhile(lambda candidate: candidate.due <= now, self._waiting.values()))
        for candidate in due:
            del self._waiting[candidate.attempt_id]
        return [(each, pidfd) for each in due if (pidfd := open_pidfd_of(each.process)) is not None]

    def _begin(self, batch: list[tuple[_Candidate, int]]) -> None:
        if not batch:
            return
        cgroups = self.cgroups()
        if cgroups is None:
            for _, pidfd in batch:
                os.close(pidfd)
            return
        from threading import Thread  # few attempts last long enough

        self._thread = Thread(target=self._work, args=(cgroups, batch), daemon=True)
        self._thread.start()

    def _work(self, cgroups: Cgroups, batch: list[tuple[_Candidate, int]]) -> None:
        """Runs in the thread."""
        try:
            if not self._is_swept:
                self._is_swept = True
                cgroups.sweep()
            for candidate, pidfd in batch:
                group = cgroups.make(candidate.tag)
                # One that has ended meanwhile leaves an empty group, or one with the processes that it forked.
                if group is not None and (
                    move_tree(group, pid_in(candidate.process) or 0, pidfd) or not group.remove()
                ):
                    self._done.append((candidate.attempt_id, group))
                os.close(pidfd)
        finally:
            os.eventfd_write(self._bell, 1)

    def _hear(self) -> None:
        os.eventfd_read(self._bell)
        self._take_in()

    def _take_in(self) -> None:
        """Take in what the thread has done."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        while self._done:
            self._moved(*self._done.popleft())
