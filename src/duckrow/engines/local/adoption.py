"""Finds out what happened to an attempt whose host is dead, from all available evidence.

In this order: a living process that certainly belongs to it; the journal; the database. Missing evidence never
outweighs evidence that exists.
"""

from __future__ import annotations

import os

from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.ports import Ended, NeverBegan, Vanished
from duckrow.engines.local.keeper.journal import Journal, Record
from duckrow.engines.local.processes.processes import first_process_of, is_same_process, tag_of
from duckrow.kernel.process import PidSpace, is_alive, our_pid_space, pid_in, space_in


class Evidence(NamedTuple):
    attempt: LiveAttempt  # as the database has it
    journal: Journal
    path: str  # of the journal
    rebooted: bool  # its host says that it was started on an earlier boot

    @property
    def record(self) -> Record:
        return self.journal.of(self.attempt.id)

    @property
    def is_of_another_boot(self) -> bool:
        space = self._space
        return self.rebooted or (space is not None and space.boot != our_pid_space().boot)

    @property
    def is_of_another_namespace(self) -> bool:
        """Whether its PIDs mean nothing here."""
        space = self._space
        return space is not None and space.namespace not in ("", our_pid_space().namespace)

    @property
    def _space(self) -> PidSpace | None:
        return self.journal.space or space_in(self.attempt.process)

    @property
    def recorded_pid(self) -> int | None:
        """The PID of its first process, in our PID namespace."""
        if self.is_of_another_boot or self.is_of_another_namespace:
            return None
        return self.record.pid or self.attempt.pid

    @property
    def may_be_mended(self) -> bool:
        """Whether to wait: if somebody removed or replaced the journal, a living keeper soon writes it again."""
        return not self.is_of_another_boot and not (self.journal.exists and self.record.begun)

    @property
    def has_not_begun(self) -> bool:
        """Its start was recorded, but nothing was done. Only a complete journal can show that."""
        unseen = self.attempt.pid is None and not self.attempt.process and not self.record.begun
        may_begin = self.journal.kept and self.journal.has_starters
        return self.record.never_began or (unseen and self.journal.whole and not may_begin)


def living_process(evidence: Evidence) -> int | None:
    """The PID of its first process, if that is alive and certainly belongs to it."""
    attempt, record = evidence.attempt, evidence.record
    if evidence.is_of_another_boot or evidence.has_not_begun:
        return None
    if is_alive(attempt.process):
        return pid_in(attempt.process)
    if evidence.recorded_pid is None:
        first = first_process_of(tag_of(attempt.keeper, attempt.id))
        return None if first is None else first.pid
    if record.pid is not None and is_same_process(record.pid, record.seen_boottime):
        return record.pid
    return None


def verdict(evidence: Evidence) -> NeverBegan | Vanished | None:
    """What happened to it, if its first process is gone; None while its keeper has not said yet."""
    attempt_id = evidence.attempt.id
    if evidence.has_not_begun:
        return NeverBegan(attempt_id)
    if evidence.is_of_another_boot:
        return Vanished(attempt_id, "the machine was restarted while it ran")
    if evidence.journal.kept:
        return None
    if not evidence.journal.exists:
        return Vanished(attempt_id, f"its process ended, and the journal of its host is gone ({evidence.path})")
    if not evidence.record.begun:
        return Vanished(attempt_id, f"its process ended, and the journal of its host is damaged ({evidence.path})")
    if evidence.is_of_another_namespace:
        return Vanished(attempt_id, "it ran in another container, and the duckrow there is gone")
    return ended_unseen(attempt_id)


def ended_unseen(attempt_id: int) -> Vanished:
    return Vanished(attempt_id, "its process ended while no scheduler was watching")


def end_of(attempt_id: int, record: Record, silent: bool) -> Ended:
    """How it ended, as another process has written it down."""
    assert record.wait_status is not None
    code = os.waitstatus_to_exitcode(record.wait_status)
    exit_code, number = (code, None) if code >= 0 else (None, -code)
    return Ended(attempt_id, exit_code, number, record.ended_at, (), silent)
