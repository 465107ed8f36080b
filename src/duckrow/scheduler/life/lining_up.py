"""Lines up short jobs: jobs of a few milliseconds follow one another on a device without asking the loop.

Each is recorded as starting, like any other job, before it is lined up. Whenever something else happens (a wish, a
pause, a new job, Ctrl-C, a job that turns out to be slow), all lined-up jobs go back to the queue.
"""

from __future__ import annotations

from duckrow.core.clock import Now
from duckrow.core.jobs.job import LiveAttempt
from duckrow.core.ports import Engine
from duckrow.core.schedule.decide import BRISK_S, choose_successors, line_length
from duckrow.scheduler.state import HostState
from duckrow.scheduler.tick.new_attempts import NewAttempts
from duckrow.store.attempts.attempts import AttemptStore

# An attempt that has run this long is not short, even if those before it were. No job should line up behind it.
SLOW_S = 3 * BRISK_S


class LiningUp:
    def __init__(self, state: HostState, store: AttemptStore, engine: Engine, new: NewAttempts) -> None:
        self._state = state
        self._store = store
        self._engine = engine
        self._new = new
        self._pace_s = 1.0  # how long jobs take; the latest count most

    def note_pace(self, lasted_s: float) -> None:
        self._pace_s += 0.2 * (lasted_s - self._pace_s)

    def grow(self, now: Now) -> list[LiveAttempt]:
        """The attempts that are lined up now, each behind the one that it follows."""
        length = line_length(self._pace_s) if self._may_grow() else 0
        if length == 0:
            return []
        state = self._state
        tails = [attempt for attempt in state.live.values() if self._may_be_followed(attempt, now.mono)]
        chosen = choose_successors(tails, state.queue.jobs, len(tails) * length - len(state.lined_up))
        last = {tail.id: tail.id for tail in tails}
        grown: list[LiveAttempt] = []
        for tail, job in chosen:
            successor = self._new.line_up(job, tail.holds, last[tail.id], now)
            last[tail.id] = successor.id
            grown.append(successor)
        state.queue.drop([attempt.job for attempt in grown])
        return grown

    def _may_grow(self) -> bool:
        """Where jobs are limited, or devices are out of use, each job needs a new decision."""
        state = self._state
        wanted = state.may_start and state.looks_ahead and bool(state.queue)
        return wanted and not state.limits.most and not state.any_out_of_use

    def _may_be_followed(self, attempt: LiveAttempt, mono: float) -> bool:
        """Whether a job may line up behind it: it is the last in line, our child, not slow, and nobody stops it."""
        return (
            attempt.id not in self._state.lined_up
            and all(share for _, share in attempt.holds)
            and attempt.keeper == self._engine.keeper
            and attempt.stop_began_mono is None
            and (attempt.follows is not None or mono - attempt.started.mono < SLOW_S)
        )

    def is_slow(self, mono: float) -> bool:
        """Whether a job is lined up behind an attempt that takes long."""
        heads = (self._state.live.get(attempt_id) for attempt_id in self._state.lined_up)
        return any(head is not None and head.follows is None and mono - head.started.mono >= SLOW_S for head in heads)

    def stand_back(self, now: Now) -> None:
        """Put all lined-up jobs that have not started back into the queue."""
        for attempt in list(self._state.lined_up.values()):
            if attempt.follows is not None and self._engine.stand_down(attempt):
                self._store.unstart(attempt, 0.0, now, "gave up its place behind a running job")
                self._state.drop(attempt)
                self._state.look_again()
