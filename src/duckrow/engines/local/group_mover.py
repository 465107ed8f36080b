"""Moving attempts that last into cgroups of their own, beside the loop and never in it.

The first move in a while takes 6 to 14 ms, in which the kernel makes sure that nobody forks; those right after it take
0.02 ms. So attempts of less than a second stay where they are. The others are moved together, at most once a second, by
a thread.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from duckrow.core.ports import Reactor
from duckrow.engines.local.attempt_group import AttemptGroup
from duckrow.engines.local.cgroups import Cgroups
from duckrow.engines.local.process_tree import move_tree
from duckrow.engines.local.processes import open_pidfd

OLD_ENOUGH_S = 1.0


class _Candidate(NamedTuple):
    attempt_id: int
    tag: str
    pid: int
    due: float


class Mover:
    """`lives`: whether the attempt's process has not ended, or at least not been waited for.

    `moved` is called in the loop, for each attempt that got a group, also if the attempt has ended meanwhile.
    """

    def __init__(
        self,
        reactor: Reactor,
        keepers_folder: str,
        lives: Callable[[int], bool],
        moved: Callable[[int, AttemptGroup], None],
    ) -> None:
        self._reactor = reactor
        self._keepers = keepers_folder
        self._lives = lives
        self._moved = moved
        self._waiting: deque[_Candidate] = deque()
        self._is_armed = False
        self._cgroups: Cgroups | None = None
        self._is_found = False
        self._thread: threading.Thread | None = None
        self._done: deque[tuple[int, AttemptGroup]] = deque()
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        reactor.watch(self._bell, self._hear)

    def expect(self, attempt_id: int, tag: str, pid: int) -> None:
        """Move this attempt if it is still there in a second. Cheap: one entry in a list."""
        if self._is_found and self._cgroups is None:
            return
        self._waiting.append(_Candidate(attempt_id, tag, pid, time.monotonic() + OLD_ENOUGH_S))
        self._arm(OLD_ENOUGH_S)

    def cgroups(self) -> Cgroups | None:
        """Looked for when first asked, which most runs of short jobs never do."""
        if not self._is_found:
            self._cgroups, self._is_found = Cgroups.find(self._keepers), True
            if self._cgroups is None:
                self._waiting.clear()
        return self._cgroups

    def close(self) -> None:
        if self._thread is not None:
            self._thread.join()
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
        """With a pidfd each, from when they are certainly not waited for: their PIDs may mean others later."""
        found = []
        now = time.monotonic()
        while self._waiting and self._waiting[0].due <= now:
            candidate = self._waiting.popleft()
            pidfd = open_pidfd(candidate.pid) if self._lives(candidate.attempt_id) else None
            if pidfd is not None:
                found.append((candidate, pidfd))
        return found

    def _begin(self, batch: list[tuple[_Candidate, int]]) -> None:
        if not batch:
            return
        is_first = not self._is_found
        cgroups = self.cgroups()
        if cgroups is None:
            for _, pidfd in batch:
                os.close(pidfd)
            return
        self._thread = threading.Thread(target=self._work, args=(cgroups, batch, is_first), daemon=True)
        self._thread.start()

    def _work(self, cgroups: Cgroups, batch: list[tuple[_Candidate, int]], is_first: bool) -> None:
        """On the thread."""
        try:
            if is_first:
                cgroups.sweep()
            for candidate, pidfd in batch:
                group = cgroups.make(candidate.tag)
                if group is not None and move_tree(group, candidate.pid, pidfd):
                    self._done.append((candidate.attempt_id, group))
                elif group is not None:
                    group.remove()
                os.close(pidfd)
        finally:
            os.eventfd_write(self._bell, 1)

    def _hear(self) -> None:
        os.eventfd_read(self._bell)
        assert self._thread is not None
        self._thread.join()
        self._thread = None
        while self._done:
            self._moved(*self._done.popleft())
