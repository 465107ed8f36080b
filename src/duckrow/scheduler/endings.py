"""What the engine reports becomes states: seen running, ended, vanished, never begun."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

from duckrow.core.clock import Now
from duckrow.core.inventory import CPU
from duckrow.core.job import LiveAttempt
from duckrow.core.lifecycle import Outcome, State, left_behind, outcome_of
from duckrow.core.ports import Ended, Gone, NeverBegan, NotStarted, Report, Started, Vanished
from duckrow.core.retry import Verdict, after_end
from duckrow.core.use import Use

if TYPE_CHECKING:
    from duckrow.scheduler.loop import Loop

_RETRY_START_S = 2.0


class Endings:
    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._store = loop.store
        self.told: list[tuple[LiveAttempt, Verdict, float]] = []  # the ends of this tick
        self.freed = False  # whether other hosts have something to gain from them

    def settle(self, reports: Sequence[Report], now: Now) -> None:
        self.told = []
        ended = {report.attempt_id for report in reports if not isinstance(report, Started)}
        for report in reports:
            attempt = self._loop.live.get(report.attempt_id)
            if attempt is None:
                continue
            match report:
                case Started(_, pid, process):
                    attempt.pid, attempt.process = pid, process
                    self._saw_start(attempt, now, ended)
                case Ended(_, exit_code, signal, at, leftovers, silent, oom_killed, host_peak_mb):
                    attempt.exit_code, attempt.signal, attempt.exited_at = exit_code, signal, at
                    attempt.oom_killed, attempt.host_peak_mb = oom_killed, host_peak_mb
                    if silent:
                        attempt.log = ""
                    if leftovers:
                        self._begin_clearing(attempt, leftovers, now)
                    else:
                        self._finish(attempt, now)
                case Gone():
                    self._finish(attempt, now)
                case Vanished(_, reason, leftovers):
                    attempt.lost_because = reason
                    if leftovers:
                        self._begin_clearing(attempt, leftovers, now)
                    else:
                        self._finish(attempt, now)
                case NeverBegan():
                    self._unstart(attempt, 0.0, now, "it had not begun when the scheduler ended")
                case NotStarted(_, reason, try_later):
                    self._not_started(attempt, reason, try_later, now)

    def _saw_start(self, attempt: LiveAttempt, now: Now, ended: set[int]) -> None:
        if attempt.id not in ended and attempt.state is State.STARTING:
            self._store.attempts.running(attempt, now.wall)
            if attempt.suspended_mono is not None:
                self._loop.engine.signal_all(attempt, signal.SIGSTOP)  # it was paused before it was there to hear it
        elif attempt.stop_step == 1:
            attempt.stop_step = 0  # it was asked to end before it was there to hear it: ask again

    def _begin_clearing(self, attempt: LiveAttempt, leftovers: Sequence[str], now: Now) -> None:
        """The job's own process has ended; what it left behind is ended too before its devices are free."""
        self._store.attempts.note_exit(attempt)
        if attempt.stop_began_mono is None:
            attempt.left_behind = left_behind(leftovers)
            self._store.attempts.stopping(attempt, None, now, attempt.left_behind)
            attempt.stop_began_mono = now.mono
        if attempt.stop_step < 2:
            attempt.stop_step = 0

    def _finish(self, attempt: LiveAttempt, now: Now, outcome: Outcome | None = None, detail: str = "") -> None:
        if outcome is None:
            outcome = outcome_of(attempt.exit_code, attempt.signal, attempt.stopped_for)
            if attempt.lost_because and outcome is not Outcome.KILLED:
                outcome = Outcome.LOST
        detail = detail or attempt.lost_because or attempt.left_behind
        at = attempt.exited_at or now.wall
        # By the clock that nobody sets, less what has passed since it was seen to end.
        lasted_s = max(now.mono - attempt.started.mono - max(now.wall - at, 0.0), 0.0)
        wanted_dead = attempt.stopped_for is Outcome.KILLED
        use = self._loop.watch.ended(attempt, outcome is Outcome.SUCCEEDED, now.mono)
        if use is not None:
            self._store.use.note(attempt, use)
        if outcome is Outcome.SUCCEEDED:
            self._loop.sharing.succeeded(attempt)
        verdict = None if outcome is Outcome.SUCCEEDED else self._lesson(attempt, outcome, use)
        if verdict is None:
            verdict = after_end(attempt.job, outcome, attempt.exit_code, lasted_s, wanted_dead, detail)
        verdict = self._loop.broken_gpus.judge(attempt, verdict, lasted_s, now)
        self._loop.lines.note_pace(lasted_s)
        self._close(attempt, verdict, at, now)

    def _lesson(self, attempt: LiveAttempt, outcome: Outcome, use: Use | None) -> Verdict | None:
        from duckrow.scheduler.lessons import Lessons  # most runs need none

        return Lessons(self._loop).after(attempt, outcome, use)

    def _close(self, attempt: LiveAttempt, verdict: Verdict, at: float, now: Now) -> None:
        self._store.attempts.finish(attempt, verdict.outcome, at, verdict.detail)
        if verdict.again:
            self._store.moves.retry(attempt.job, attempt.state, verdict, now)
            self._loop.comes_back(verdict.wait_s, now)
        elif self._store.moves.finish(attempt.job.id, attempt.state, verdict.outcome, at, verdict.detail):
            self._loop.look_again()
        self._release(attempt)
        self.told.append((attempt, verdict, at))
        self._loop.on_end(attempt, verdict)  # before anything else is started: it may have been one failure too many

    def _not_started(self, attempt: LiveAttempt, reason: str, try_later: bool, now: Now) -> None:
        if try_later:
            self._unstart(attempt, _RETRY_START_S, now, f"not started: {reason}")
            self._loop.observer.trouble(
                f"{attempt.job.words.capitalize()} could not be started: {reason}. It is tried again."
            )
        else:
            self._finish(attempt, now, Outcome.FAILED, f"could not be started: {reason}")

    def _unstart(self, attempt: LiveAttempt, wait_s: float, now: Now, detail: str) -> None:
        if attempt.stopped_for is Outcome.KILLED:
            self._finish(attempt, now, Outcome.KILLED, "killed before it began")
            return
        self._store.attempts.unstart(attempt, wait_s, now, detail)
        self._loop.comes_back(wait_s, now)
        self._release(attempt)

    def _release(self, attempt: LiveAttempt) -> None:
        if attempt.suspended_mono is not None:
            self._store.suspensions.end(attempt)
        del self._loop.live[attempt.id]
        self._loop.unbook(attempt)
        successor = self._loop.lines.step_up(attempt)
        if successor is not None:
            self._loop.book(successor)
            return
        only_ours = attempt.holds[0][0].startswith(CPU) and attempt.job_host_id == self._loop.host.id
        if not only_ours or attempt.job.needs is not None:  # the cores and the memory are everybody's
            self.freed = True
