"""The processes of a host's attempts: which belong to which, and how to signal and end them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.engines.local.cgroups.attempt_groups import AttemptGroups
from duckrow.engines.local.processes.children import Children
from duckrow.engines.local.processes.orphans import Orphans
from duckrow.engines.local.processes.process_tree import kill_tree
from duckrow.engines.local.processes.processes import Trace, processes_of, send, tag_of
from duckrow.kernel.process import Process, catches, children_of, is_alive, read_process


class AttemptProcesses:
    def __init__(
        self,
        journal: str,
        children: Children,
        groups: AttemptGroups,
        in_our_session: bool,
        may_be_attempt: Callable[[], bool] = lambda: False,
    ) -> None:
        """`in_our_session`: attempts share our session, as in a terminal. `may_be_attempt`: as for `Orphans`."""
        self._children = children
        self._groups = groups
        self._orphans = Orphans(journal, in_our_session, groups.attempt_of, may_be_attempt)
        self._sure_until: dict[int, float] = {}  # attempt -> until when its PID was its own, in seconds since boot
        self.rebooted: set[int] = set()  # attempts of an earlier boot: all their processes are gone

    def of(self, attempt: LiveAttempt) -> list[Process]:
        """All living processes."""
        return [] if attempt.id in self.rebooted else processes_of(self._trace(attempt))

    def _trace(self, attempt: LiveAttempt) -> Trace:
        tag, orphans = tag_of(attempt.keeper, attempt.id), self._orphans.of(attempt.id)
        in_group = self._groups.pids(attempt.id)
        if self._children.has(attempt):
            return Trace(tag, attempt.pid, orphans=orphans, in_group=in_group)
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        if is_alive(attempt.process):
            self.pid_was_its_own(attempt.id, now)
        return Trace(tag, attempt.pid, self._sure_until.get(attempt.id, 0.0), orphans, in_group)

    def pid_was_its_own(self, attempt_id: int, boottime: float) -> None:
        """The PID is certainly its own until then. Afterwards another process may have it."""
        self._sure_until[attempt_id] = max(boottime, self._sure_until.get(attempt_id, 0.0))

    def pids_become_free(self) -> None:
        """The PIDs of attempts whose end is on disk may be used again, even if such an attempt has processes left."""
        for attempt_id in self._children.outlived:
            self.pid_was_its_own(attempt_id, time.clock_gettime(time.CLOCK_BOOTTIME))

    def gone(self, attempt_id: int) -> None:
        """No process of it is left."""
        self._groups.gone(attempt_id)
        self.rebooted.discard(attempt_id)
        self._children.gone(attempt_id)
        self._orphans.gone(attempt_id)
        self._sure_until.pop(attempt_id, None)

    # -- orphans ----------------------------------------------------------------------------------------------

    def may_be_left(self, attempt_id: int, not_these: set[int]) -> bool:
        """Whether an attempt that has just ended may have left processes: orphans, or some in its cgroup."""
        came = self._look_at_orphans(not_these)
        return came or bool(self._orphans.of(attempt_id)) or not self._groups.is_empty(attempt_id)

    def _look_at_orphans(self, not_these: set[int]) -> bool:
        """Whether orphans have come and ended already: they may have left others."""
        # All of our children are attempts, unless preloaded parents have forked some: those are not ours at first.
        if not not_these and self._orphans.are_none(len(self._children)):
            return False
        return self._orphans.look(self._children.pids | not_these, self._children.not_gone)

    def meet_orphans(self, not_these: set[int]) -> None:
        """A child that is not an attempt has ended: we must wait for it, and there may be others."""
        self._look_at_orphans(not_these)

    def became_attempt(self, pid: int) -> None:
        """This process is not an orphan: a preloaded parent has forked it in advance."""
        self._orphans.forget(pid)

    def strangers(self, not_these: set[int]) -> list[int]:
        """Children of ours that are not known yet."""
        known = self._children.pids | self._orphans.known | not_these
        return [pid for pid in children_of(os.getpid()) if pid not in known]

    def reap_orphans(self) -> None:
        """We must wait for these when they end: nobody else does."""
        known = self._orphans.known
        for pid in known - self._children.pids if known else ():
            try:
                if os.waitpid(pid, os.WNOHANG)[0]:
                    self._orphans.forget(pid)
            except ChildProcessError:
                self._orphans.forget(pid)

    # -- signals ----------------------------------------------------------------------------------------------

    def signal_all(self, attempt: LiveAttempt, number: int) -> bool:
        """Repeat until no new process appears: one may fork while it is being suspended. Whether there was any."""
        told: set[int] = set()
        while new := [process for process in self.of(attempt) if process.pid not in told]:
            for process in new:
                send(process, number)
            told.update(process.pid for process in new)
            if number != signal.SIGSTOP:
                break
        return bool(told)

    def notice(self, attempt: LiveAttempt, number: int) -> bool:
        """Signal only processes that have a handler: it would kill the others. Whether there was any."""
        handling = [process for process in self.of(attempt) if catches(process.pid, number)]
        for process in handling:
            send(process, number)
        return bool(handling)

    def ask_to_end(self, attempt: LiveAttempt) -> None:
        """Signal its process group, as a terminal would. If the first process is gone, signal all of them."""
        first = read_process(attempt.pid) if attempt.pid is not None and self._children.lives(attempt) else None
        if first is not None and first.group == first.pid:
            os.killpg(first.pid, signal.SIGTERM)
            os.killpg(first.pid, signal.SIGCONT)  # a suspended process would not react
            return
        all_of_it = self.of(attempt)
        group = [process for process in all_of_it if process.group == attempt.pid]
        for process in group if any(process.pid == attempt.pid for process in group) else all_of_it:
            send(process, signal.SIGTERM)
            send(process, signal.SIGCONT)

    def kill(self, attempt: LiveAttempt, not_these: set[int]) -> None:
        """Kill all of them, even those that fork meanwhile: first its whole group, then those that were never in it."""

        def trace_now() -> Trace:
            self._look_at_orphans(not_these)
            return self._trace(attempt)

        if attempt.id not in self.rebooted:
            self._groups.kill(attempt.id)
            self._halt_orphans(attempt, not_these)
            kill_tree(trace_now)

    def left_of(self, attempt: LiveAttempt, not_these: set[int]) -> list[Process]:
        """Kill what is left of an attempt that has ended."""
        return self.of(attempt) or self.runaways(attempt, not_these)

    def runaways(self, attempt: LiveAttempt, not_these: set[int]) -> list[Process]:
        """Kill what is left of an attempt that seems to be gone. A chain of forks shows only once it is stopped."""
        if attempt.id in self.rebooted:
            return []
        self._halt_orphans(attempt, not_these)
        return self.of(attempt)

    def _halt_orphans(self, attempt: LiveAttempt, not_these: set[int]) -> None:
        self._orphans.halt(attempt.id, self._children.pids | not_these, self._children.not_gone)
