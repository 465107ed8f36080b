"""What the engine reports becomes states: seen running, ended, vanished, never started."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from duckrow.core.clock import Now
from duckrow.core.jobs.attempt import Exit, LiveAttempt
from duckrow.core.life.retry import Verdict, after_end
from duckrow.core.life.states import Outcome, State, left_behind, outcome_of
from duckrow.core.memory.use import Use
from duckrow.core.ports import Ended, Engine, Gone, NeverBegan, NotStarted, Observer, Report, Started, Vanished
from duckrow.scheduler.devices.broken_gpus import BrokenGpus
from duckrow.scheduler.devices.mps_sharing import MpsSharing
from duckrow.scheduler.life.delays import Delays
from duckrow.scheduler.life.preload_hint import PreloadHint
from duckrow.scheduler.life.suspending import Suspending
from duckrow.scheduler.memory.watch import Watch
from duckrow.scheduler.state.host_state import HostState
from duckrow.store.tick import TickStores

_RETRY_START_S = 2.0


class Endings:
    def __init__(
        self,
        state: HostState,
        store: TickStores,
        engine: Engine,
        observer: Observer,
        watch: Watch,
        sharing: MpsSharing,
        broken_gpus: BrokenGpus,
        delays: Delays,
        suspending: Suspending,
    ) -> None:
        self._state = state
        self._store = store
        self._engine = engine
        self._observer = observer
        self._watch = watch
        self._sharing = sharing
        self._broken_gpus = broken_gpus
        self._delays = delays
        self._suspending = suspending
        self._preload_hint = PreloadHint(state.told, observer)
        # Before anything else starts: this may have been the last failure that --max-failures allows.
        self.on_end: Callable[[LiveAttempt, Verdict], None] = lambda *_: None

    def settle(self, reports: Sequence[Report], now: Now) -> None:
        ended = {report.attempt_id for report in reports if not isinstance(report, Started)}
        for report in reports:
            self._engine.follow_up()  # many ends take longer to write than the next short jobs take to end
            attempt = self._state.live.get(report.attempt_id)
            if attempt is not None:
                self._settle(attempt, report, ended, now)

    def _settle(self, attempt: LiveAttempt, report: Report, ended: set[int], now: Now) -> None:
        match report:
            case Started(_, pid, process):
                attempt.has_process(pid, process)
                self._saw_start(attempt, now, ended)
            case Ended(_, exit_code, signal, at, leftovers, silent, oom_killed, host_peak_mb):
                attempt.note_exit(Exit(exit_code, signal, at, oom_killed, host_peak_mb))
                if silent:
                    attempt.lose_log()
                self._clear(attempt, leftovers, now)
            case Vanished(_, reason, leftovers):
                attempt.note_loss(reason)
                self._clear(attempt, leftovers, now)
            case Gone():
                self._finish(attempt, now)
            case NeverBegan():
                self._unstart(attempt, 0.0, now, "it had not started when the scheduler ended")
            case NotStarted(_, reason, try_later):
                self._not_started(attempt, reason, try_later, now)

    def _saw_start(self, attempt: LiveAttempt, now: Now, ended: set[int]) -> None:
        if attempt.id not in ended and attempt.state is State.STARTING:
            self._store.attempts.running(attempt, now.wall)
            self._suspending.repeat(attempt)  # it was paused before its process existed
        else:
            attempt.ask_again()  # it was stopped before its process existed

    def _clear(self, attempt: LiveAttempt, leftovers: Sequence[str], now: Now) -> None:
        """The job's own process has ended. Its devices are free once the processes that it left have ended too."""
        if not leftovers:
            self._finish(attempt, now)
            return
        self._store.attempts.note_exit(attempt)
        if attempt.stop is None:
            attempt.stop_leftovers(left_behind(leftovers), now.mono)
            self._store.attempts.stopping(attempt, None, now, attempt.left_behind)
        attempt.ask_again()

    def _finish(self, attempt: LiveAttempt, now: Now, outcome: Outcome | None = None, detail: str = "") -> None:
        lost_because = attempt.lost_because
        if outcome is None:
            outcome = outcome_of(attempt.exit_code, attempt.signal, attempt.stopped_for)
            if lost_because and outcome is not Outcome.KILLED:
                outcome = Outcome.LOST
        detail = detail or lost_because or attempt.left_behind
        at = (attempt.end and attempt.end.at) or now.wall
        # By the monotonic clock, minus the time since we saw the end.
        lasted_s = max(now.mono - attempt.started.mono - max(now.wall - at, 0.0), 0.0)
        use = self._watch.ended(attempt, outcome is Outcome.SUCCEEDED, now.mono)
        if use is not None:
            self._store.use.note(attempt, use)
        if outcome is Outcome.SUCCEEDED:
            self._preload_hint.after(attempt, use, lasted_s)
            self._state.note_time(attempt.job, lasted_s)
        verdict = self._verdict(attempt, outcome, use, lasted_s, detail)
        verdict = self._broken_gpus.judge(attempt, verdict, lasted_s, now)
        self._state.pace.note(attempt.job.name, lasted_s, now.mono)
        self._close(attempt, verdict, at, now)

    def _verdict(
        self, attempt: LiveAttempt, outcome: Outcome, use: Use | None, lasted_s: float, detail: str
    ) -> Verdict:
        if outcome is Outcome.SUCCEEDED:
            self._sharing.succeeded(attempt)
        else:
            from duckrow.scheduler.memory.more_memory import MemoryRetries  # most runs need none

            retries = MemoryRetries(self._state, self._store.queue, self._engine, self._watch, self._sharing)
            learned = retries.after(attempt, outcome, use)
            if learned is not None:
                return learned
        wanted_dead = attempt.stopped_for is Outcome.KILLED
        return after_end(attempt.job, outcome, attempt.exit_code, lasted_s, wanted_dead, detail)

    def _close(self, attempt: LiveAttempt, verdict: Verdict, at: float, now: Now) -> None:
        self._store.attempts.finish(attempt, verdict.outcome, at, verdict.detail)
        if verdict.again:
            self._store.moves.retry(attempt.job, attempt.state, verdict, now)
            self._delays.requeued(verdict.wait_s, now)
        elif self._store.moves.finish(attempt.job.id, attempt.state, verdict.outcome, at, verdict.detail):
            self._state.look_again()
        self._release(attempt)
        self._state.note_end(attempt, verdict, at)
        self.on_end(attempt, verdict)

    def _not_started(self, attempt: LiveAttempt, reason: str, try_later: bool, now: Now) -> None:
        if try_later:
            self._unstart(attempt, _RETRY_START_S, now, f"not started: {reason}")
            self._observer.trouble(f"{attempt.job.words.capitalize()} could not be started: {reason}. It is retried.")
        else:
            self._finish(attempt, now, Outcome.FAILED, f"could not be started: {reason}")

    def _unstart(self, attempt: LiveAttempt, wait_s: float, now: Now, detail: str) -> None:
        if attempt.stopped_for is Outcome.KILLED:
            self._finish(attempt, now, Outcome.KILLED, "killed before it started")
            return
        self._store.attempts.unstart(attempt, wait_s, now, detail)
        self._delays.requeued(wait_s, now)
        self._release(attempt)

    def _release(self, attempt: LiveAttempt) -> None:
        self._suspending.forget(attempt)
        self._state.release(attempt)
