"""Lines of short jobs: those that last milliseconds follow one another on a device without asking the loop.

Each is recorded as starting, like any other, before it is lined up. Whenever anything else happens (a wish, a pause, a
new job, Ctrl-C, a job that turns out to be slow), all who wait in line stand back: they are queued again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from duckrow.core.clock import Now
from duckrow.core.decide import BRISK_S, choose_successors, line_length
from duckrow.core.job import LiveAttempt, QueuedJob

if TYPE_CHECKING:
    from duckrow.scheduler.loop import Loop

# An attempt that has lasted so long is no short one, whatever those before it were: nobody should wait behind it.
SLOW_S = 3 * BRISK_S


class Lines:
    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._followed: dict[int, LiveAttempt] = {}  # attempt -> the one behind it
        self._pace_s = 1.0  # how long jobs last, the last ones counting most
        self.allowed = True

    def __len__(self) -> int:
        """How many wait in line, as far as is recorded."""
        return len(self._followed)

    def note_pace(self, lasted_s: float) -> None:
        self._pace_s += 0.2 * (lasted_s - self._pace_s)

    def grow(self, queue: list[QueuedJob], now: Now) -> list[LiveAttempt]:
        """The attempts that are lined up now, each behind the one that it follows."""
        length = line_length(self._pace_s) if self.allowed and queue else 0
        if length == 0:
            return []
        tails = [attempt for attempt in self._loop.live.values() if self._may_be_followed(attempt, now.mono)]
        chosen = choose_successors(tails, queue, len(tails) * length - len(self._followed))
        last = {tail.id: tail.id for tail in tails}
        grown: list[LiveAttempt] = []
        for tail, job in chosen:
            successor = self._loop.new_attempt(job, tail.holds, now)
            successor.follows = last[tail.id]
            self._followed[successor.follows] = successor
            last[tail.id] = successor.id
            grown.append(successor)
        return grown

    def _may_be_followed(self, attempt: LiveAttempt, mono: float) -> bool:
        """The last of its line, a child of ours, which nobody wants to end, not slow, and waiting for nobody."""
        return (
            attempt.id not in self._followed
            and all(share for _, share in attempt.holds)
            and attempt.keeper == self._loop.engine.keeper
            and attempt.stop_began_mono is None
            and (attempt.follows is not None or mono - attempt.started.mono < SLOW_S)
        )

    def is_slow(self, mono: float) -> bool:
        """Whether somebody waits behind an attempt that takes long."""
        heads = (self._loop.live.get(attempt_id) for attempt_id in self._followed)
        return any(head is not None and head.follows is None and mono - head.started.mono >= SLOW_S for head in heads)

    def stand_back(self, now: Now) -> None:
        """All who have not been started go back to the queue."""
        for attempt in list(self._followed.values()):
            if attempt.follows is not None and self._loop.engine.stand_down(attempt):
                self._loop.store.attempts.unstart(attempt, 0.0, now, "stood back from the line")
                self.drop(attempt)
                self._loop.look_again()

    def drop(self, attempt: LiveAttempt) -> None:
        del self._loop.live[attempt.id]
        if attempt.follows is not None:
            self._followed.pop(attempt.follows, None)

    def step_up(self, gone: LiveAttempt) -> LiveAttempt | None:
        """Who has taken the place of an attempt that is gone."""
        successor = self._followed.pop(gone.id, None)
        if successor is not None:
            successor.follows = None
        return successor
