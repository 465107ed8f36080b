"""A job that a person pauses while it runs: its processes are suspended, and its time limit stands still meanwhile."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from duckrow.core.clock import Now
from duckrow.core.job import LiveAttempt

if TYPE_CHECKING:
    from duckrow.scheduler.loop import Loop


def suspend(loop: Loop, attempt: LiveAttempt, now: Now, by_itself: bool) -> None:
    """`by_itself`: it was paused alone, and goes on only when it is resumed alone."""
    if attempt.stop_began_mono is not None:
        return  # it is about to end
    if attempt.suspended_mono is None:
        attempt.suspended_mono = now.mono
    loop.store.suspensions.suspend(attempt, by_itself, now.wall)
    loop.engine.signal_all(attempt, signal.SIGSTOP)


def resume(loop: Loop, attempt: LiveAttempt, now: Now) -> None:
    """Also one of which we do not know that it is suspended: somebody else may have done it."""
    if attempt.suspended_mono is not None:
        lasted_s = now.mono - attempt.suspended_mono
        attempt.started = attempt.started._replace(mono=attempt.started.mono + lasted_s)
        attempt.suspended_mono = None
        loop.store.suspensions.resume(attempt, now.wall)
    loop.engine.signal_all(attempt, signal.SIGCONT)
