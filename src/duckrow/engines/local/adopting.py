"""Watches the attempts that other hosts have started, which are dead now."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.ports import Reactor, Report, Started, Vanished
from duckrow.engines.local.adoption import Evidence, end_of, living_process, verdict
from duckrow.engines.local.cgroups.attempt_groups import AttemptGroups
from duckrow.engines.local.keeper.journal import read_journal
from duckrow.engines.local.processes.attempt_processes import AttemptProcesses
from duckrow.engines.local.processes.end_watch import EndWatch
from duckrow.kernel.process import identity_of

_FIRST_LOOK_S, _LONGEST_LOOK_S = 0.002, 0.5
_MENDED_WITHIN_S = 4.0  # a living keeper writes a journal that is gone within a fraction of that, even on busy cores


class Adopting:
    def __init__(
        self,
        reactor: Reactor,
        folder: str,
        watched: Mapping[int, LiveAttempt],
        processes: AttemptProcesses,
        groups: AttemptGroups,
        ends: EndWatch,
        learned: Callable[[LiveAttempt, Report], None],
    ) -> None:
        """`folder`: of the journals. `watched`: all attempts of the engine, as they are now."""
        self._reactor = reactor
        self._folder = folder
        self._watched = watched
        self._processes = processes
        self._groups = groups
        self._ends = ends
        self._learned = learned

    def settle(self, attempt: LiveAttempt, wait_s: float = _FIRST_LOOK_S, waits_since: float | None = None) -> None:
        """Find out from the kernel and the journal what happened to an attempt that is not our child.

        `waits_since`: by the monotonic clock, for a journal that is gone or damaged.
        """
        if attempt.id not in self._watched:
            return
        path = os.path.join(self._folder, attempt.keeper)
        evidence = Evidence(attempt, read_journal(path), path, attempt.id in self._processes.rebooted)
        if evidence.is_of_another_boot:
            self._processes.rebooted.add(attempt.id)
        if evidence.is_of_another_namespace:
            attempt.has_process(None)  # here, that PID is another process
        record = evidence.record
        self._processes.pid_was_its_own(attempt.id, max(record.seen_boottime, record.ended_boottime))
        if record.has_ended:
            attempt.has_process(evidence.recorded_pid)
            self._learned(attempt, end_of(attempt.id, record, silent=False))
            return
        pid = living_process(evidence)
        if pid is not None and self._watch(attempt, pid):
            return
        end = verdict(evidence) if pid is None else None
        now = time.monotonic()
        if isinstance(end, Vanished) and evidence.may_be_mended:
            waits_since = now if waits_since is None else waits_since
            if now - waits_since < _MENDED_WITHIN_S:  # `lost` is for ever
                end = None
        if end is None:
            wait_s = min(wait_s * 2, _LONGEST_LOOK_S)
            self._reactor.later(wait_s, lambda: self.settle(attempt, wait_s, waits_since))
            return
        if isinstance(end, Vanished):
            attempt.has_process(evidence.recorded_pid)
        self._learned(attempt, end)

    def _watch(self, attempt: LiveAttempt, pid: int) -> bool:
        """Watch for its end; False if it has just ended."""
        process = identity_of(pid)
        if not self._ends.watch_exactly(process, lambda: self.settle(attempt)):
            return False
        if attempt.process != process:
            self._learned(attempt, Started(attempt.id, pid, process))
        attempt.has_process(pid, process)
        self._groups.expect(attempt, process)
        return True
