"""The attempts that this host has started: its own children, from their start until their end is on disk.

Until then none of them is waited for: the kernel must remember how it ended, for the keeper, and keeps its PID.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import NamedTuple

from duckrow.core.jobs.job import LiveAttempt
from duckrow.kernel.process import read_process


class End(NamedTuple):
    attempt_id: int
    exit_code: int | None
    signal: int | None


class Children:
    def __init__(self) -> None:
        self.living: dict[int, int] = {}  # pid -> attempt
        self._seen: dict[int, int] = {}  # attempt -> pid, ended and not yet reported
        self._reported: dict[int, int] = {}  # the same, reported and not yet waited for
        self._not_gone: dict[int, int | None] = {}  # attempt -> pid while that is its own, as long as some may be left

    def add(self, pid: int, attempt_id: int) -> None:
        self.living[pid] = attempt_id
        self._not_gone[attempt_id] = pid

    def gone(self, attempt_id: int) -> None:
        """Nothing of it is left."""
        self._not_gone.pop(attempt_id, None)

    def lives(self, attempt: LiveAttempt) -> bool:
        return attempt.pid is not None and self.living.get(attempt.pid) == attempt.id

    def has(self, attempt: LiveAttempt) -> bool:
        """Whether its PID cannot be anybody else's."""
        return self.lives(attempt) or attempt.id in self._seen or attempt.id in self._reported

    @property
    def pids(self) -> set[int]:
        return {*self.living, *self._seen.values(), *self._reported.values()}

    @property
    def not_gone(self) -> Collection[tuple[int, int | None]]:
        """(attempt, PID) of those of which something may be left. None: its PID may be another's by now."""
        return self._not_gone.items()

    def see_ends(self) -> list[End]:
        """Who has ended since we last looked."""
        ends = []
        for pid, attempt_id in list(self.living.items()):
            try:
                ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                if read_process(pid) is None:
                    raise
                continue  # a preloaded parent has forked it for us; it does not start before it is our child
            if ended is None:
                continue
            del self.living[pid]
            self._seen[attempt_id] = pid
            is_exit = ended.si_code == os.CLD_EXITED
            ends.append(End(attempt_id, *((ended.si_status, None) if is_exit else (None, ended.si_status))))
        return ends

    def report(self, attempt_id: int) -> None:
        """Its end is told, and will be on disk when `settle` is called."""
        pid = self._seen.pop(attempt_id, None)
        if pid is not None:
            self._reported[attempt_id] = pid

    @property
    def any_reported(self) -> bool:
        return bool(self._reported)

    @property
    def outlived(self) -> list[int]:
        """The attempts whose first process has ended, as was reported, and of which something may be left."""
        return [attempt_id for attempt_id in self._reported if attempt_id in self._not_gone]

    def settle(self) -> None:
        """All that was reported is on disk: now the kernel may forget it."""
        for attempt_id, pid in self._reported.items():
            os.waitpid(pid, os.WNOHANG)
            if attempt_id in self._not_gone:
                self._not_gone[attempt_id] = None
        self._reported.clear()
