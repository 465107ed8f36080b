"""The attempts that this host has started: its own children, from their start until their end is on disk.

We do not wait for a child before that. So the kernel remembers for the keeper how it ended, and keeps its PID.
"""

from __future__ import annotations

import os
from collections.abc import Collection

from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.named_tuple import NamedTuple
from duckrow.engines.local.processes.ends_underway import EndsUnderway
from duckrow.kernel.process import read_process


class End(NamedTuple):
    attempt_id: int
    exit_code: int | None
    signal: int | None


class Children:
    def __init__(self, helpers: Collection[int] = ()) -> None:
        """`helpers`: other children of ours that nobody has left to us, as they are now."""
        self._helpers = helpers
        self.living: dict[int, int] = {}  # pid -> attempt
        self._ends = EndsUnderway()
        self._ended: dict[int, int] = {}  # attempt -> pid of those that we have not waited for
        self._not_gone: dict[int, int | None] = {}  # attempt -> pid while that is its own, while processes may be left

    def add(self, pid: int, attempt_id: int) -> None:
        self.living[pid] = attempt_id
        self._not_gone[attempt_id] = pid

    def left(self, attempt_id: int) -> None:
        """Another process has waited for its first one, and what it left behind is ours."""
        self._not_gone[attempt_id] = None

    def gone(self, attempt_id: int) -> None:
        """No process of it is left."""
        self._not_gone.pop(attempt_id, None)

    def lives(self, attempt: LiveAttempt) -> bool:
        return attempt.pid is not None and self.living.get(attempt.pid) == attempt.id

    def has(self, attempt: LiveAttempt) -> bool:
        """Whether no other process can have its PID."""
        return self.lives(attempt) or attempt.id in self._ended

    @property
    def pids(self) -> set[int]:
        return {*self.living, *self._ended.values(), *self._helpers}

    def __len__(self) -> int:
        return len(self.living) + len(self._ended) + len(self._helpers)

    @property
    def attempts(self) -> set[int]:
        return {*self.living.values(), *self._ended}

    @property
    def not_gone(self) -> Collection[tuple[int, int | None]]:
        """(attempt, PID) of attempts that may have processes left. None: another process may have its PID by now."""
        return self._not_gone.items()

    def see_ends(self) -> list[End]:
        """The attempts that have ended since we last looked."""
        ends = []
        for pid, attempt_id in list(self.living.items()):
            try:
                ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                if read_process(pid) is None:
                    raise
                continue  # forked by a preloaded parent; it starts only once it is our child
            if ended is None:
                continue
            del self.living[pid]
            self._ended[attempt_id] = pid
            self._ends.see(attempt_id)
            is_exit = ended.si_code == os.CLD_EXITED
            ends.append(End(attempt_id, *((ended.si_status, None) if is_exit else (None, ended.si_status))))
        return ends

    def report(self, attempt_id: int) -> None:
        """As for `EndsUnderway`, if it was a child of ours."""
        self._ends.report(attempt_id)

    def tell(self) -> None:
        self._ends.tell()

    @property
    def any_told(self) -> bool:
        return bool(self._ends.told)

    @property
    def outlived(self) -> list[int]:
        """The attempts whose first process has ended, as was told, and of which something may be left."""
        return [attempt_id for attempt_id in self._ends.told if attempt_id in self._not_gone]

    def settle(self) -> None:
        """Everything that was told is on disk, so the kernel may forget it now."""
        for attempt_id in self._ends.settle():
            os.waitpid(self._ended.pop(attempt_id), os.WNOHANG)
            if attempt_id in self._not_gone:
                self._not_gone[attempt_id] = None
