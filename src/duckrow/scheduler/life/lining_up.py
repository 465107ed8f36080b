"""Lines up short jobs: they follow one another on a device without asking the loop.

Each is recorded as starting, like any other job, before it is lined up. Whenever something else happens (a wish, a
pause, a new job, Ctrl-C, a job that turns out to be slow), all lined-up jobs go back to the queue. Jobs that last more
than a moment do so too when another device becomes free: none of them waits for a device while one is free.
"""

from __future__ import annotations

from collections.abc import Iterable

from duckrow.core.clock import Now
from duckrow.core.devices.inventory import has_room
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.ports import Engine
from duckrow.core.schedule.decide import choose_successors
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.tick.new_attempts import NewAttempts
from duckrow.store.attempts.attempts import AttemptStore


class LiningUp:
    def __init__(self, state: HostState, store: AttemptStore, engine: Engine, new: NewAttempts) -> None:
        self._state = state
        self._store = store
        self._engine = engine
        self._new = new

    def grow(self, now: Now) -> list[LiveAttempt]:
        """The attempts that are lined up now, each behind the one that it follows."""
        state = self._state
        length = state.pace.length if self._may_grow() else 0
        if length == 0:
            return []
        tails = [attempt for attempt in state.live.values() if self._may_be_followed(attempt, now.mono)]
        room = len(tails) * length - self._engine.lined_up()  # of those that were, some may have begun
        if not state.pace.is_brisk:  # one behind each that runs, while no device is free
            tails = [attempt for attempt in tails if attempt.follows is None]
            room = 0 if self._is_any_free(tails) else len(tails)
        chosen = choose_successors([(tail, self._waiting_in(tail)) for tail in tails], state.queue.jobs, room)
        last = {tail.id: tail.id for tail in tails}
        grown: list[LiveAttempt] = []
        for tail, job in chosen:
            successor = self._new.line_up(job, tail.holds, last[tail.id], now)
            last[tail.id] = successor.id
            grown.append(successor)
        state.queue.drop([attempt.job for attempt in grown])
        return grown

    def _waiting_in(self, tail: LiveAttempt) -> int:
        """How many wait in its line, as far as we know."""
        count = 0
        while tail.follows is not None:
            count += 1
            tail = self._state.live[tail.follows]
        return count

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
            and attempt.stop is None
            and (attempt.follows is not None or mono - attempt.started.mono < self._state.pace.slow_s)
            and self._state.pace.knows(attempt.job.name, mono)
        )

    def _is_any_free(self, attempts: Iterable[LiveAttempt]) -> bool:
        """Whether there is a free device like those of these attempts."""
        kinds = {(attempt.has_gpu, len(attempt.holds)) for attempt in attempts}
        free = (seat for seat in self._state.usable(self._state.seats) if has_room(seat, self._state.booked))
        return bool(kinds) and any((not seat.is_cpu, len(seat.holds)) in kinds for seat in free)

    def wait_beside_free_device(self) -> bool:
        """Whether a job waits in a line that takes more than a moment, and could start on another device now."""
        return not self._state.pace.is_brisk and self._is_any_free(self._state.lined_up.values())

    def is_slow(self, mono: float) -> bool:
        """Whether a job is lined up behind an attempt that takes long."""
        slow_s = self._state.pace.slow_s
        heads = (self._state.live.get(attempt_id) for attempt_id in self._state.lined_up)
        return any(head is not None and head.follows is None and mono - head.started.mono >= slow_s for head in heads)

    def stand_back(self, now: Now) -> None:
        """Put all lined-up jobs that have not started back into the queue."""
        for attempt in list(self._state.lined_up.values()):
            if attempt.follows is not None and self._engine.stand_down(attempt):
                self._store.unstart(attempt, 0.0, now, "gave up its place behind a running job")
                self._state.drop(attempt)
                self._state.look_again()
