"""Begins to stop an attempt: records it here; the tick then sends SIGTERM and SIGKILL."""

from __future__ import annotations

from duckrow.core.clock import Now
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.life.states import Outcome
from duckrow.scheduler.life.suspending import Suspending
from duckrow.store.attempts.attempts import AttemptStore


class Stopping:
    def __init__(self, store: AttemptStore, suspending: Suspending) -> None:
        self._store = store
        self._suspending = suspending

    def begin(self, attempt: LiveAttempt, reason: Outcome, now: Now, detail: str) -> None:
        if attempt.suspended_mono is not None:
            self._suspending.resume(attempt, now)  # or it could not react to the signal
        self._store.stopping(attempt, reason, now, detail)
        attempt.begin_stop(reason, now.mono)

    def kill(self, attempt: LiveAttempt, now: Now, why: str, at_once: bool) -> None:
        """Begin to stop it; `at_once`: without waiting for the grace time."""
        if attempt.stopped_for is not Outcome.KILLED:
            self.begin(attempt, Outcome.KILLED, now, why)
        if at_once:
            attempt.hurry(now.mono)
