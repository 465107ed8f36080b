"""Suspends running jobs that somebody pauses; their time limits stop in the meantime."""

from __future__ import annotations

import signal

from duckrow.core.clock import Now
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.ports import Engine
from duckrow.store.life.suspension import SuspensionStore


class Suspending:
    def __init__(self, store: SuspensionStore, engine: Engine) -> None:
        self._store = store
        self._engine = engine

    def suspend(self, attempt: LiveAttempt, now: Now, by_itself: bool) -> None:
        """`by_itself`: only this job was paused, so only resuming this job continues it."""
        if attempt.stop is not None:
            return  # it is about to end
        attempt.suspend(now.mono)
        self._store.suspend(attempt, by_itself, now.wall)
        self._engine.signal_all(attempt, signal.SIGSTOP)

    def resume(self, attempt: LiveAttempt, now: Now) -> None:
        """Continue it even if we do not know that it is suspended: somebody else may have suspended it."""
        if attempt.suspended_mono is not None:
            attempt.resume(now.mono)
            self._store.resume(attempt, now.wall)
        self._engine.signal_all(attempt, signal.SIGCONT)

    def repeat(self, attempt: LiveAttempt) -> None:
        """Only now does its process exist."""
        if attempt.suspended_mono is not None:
            self._engine.signal_all(attempt, signal.SIGSTOP)

    def forget(self, attempt: LiveAttempt) -> None:
        """It is over."""
        if attempt.suspended_mono is not None:
            self._store.end(attempt)
