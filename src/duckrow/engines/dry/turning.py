"""Moves the clock of one or more hosts by hand: whatever is due happens, in the order in which it is due."""

from __future__ import annotations

from collections.abc import Callable

from duckrow.engines.dry.clock import HandClock
from duckrow.engines.dry.reactor import HandReactor

_MOST_TURNS = 2_000  # at one moment: more means that something is due over and over
_ROUNDING_S = 1e-5  # 1 + 4.9 + 1.1 seconds need not be exactly 7 seconds


class Turning:
    def __init__(self, clock: HandClock) -> None:
        self.clock = clock
        self._turns: dict[HandReactor, Callable[[], None]] = {}

    def add(self, reactor: HandReactor, turn: Callable[[], None]) -> None:
        """`turn`: called each time for its host, which waits with this reactor."""
        self._turns[reactor] = turn

    def remove(self, reactor: HandReactor) -> None:
        del self._turns[reactor]

    def settle(self) -> float:
        """Do all that can be done now. Returns when the next thing is due, on the monotonic clock."""
        for _ in range(_MOST_TURNS):
            for turn in list(self._turns.values()):
                turn()
            rests = [reactor.rests_until for reactor in self._turns]
            dues = [due for due in rests if due is not None]
            if len(dues) == len(rests):
                return min(dues, default=float("inf"))
        raise RuntimeError(f"At {self.clock.now().mono} there is always more to do.")

    def advance(self, seconds: float) -> None:
        """Let this much time pass. What is due exactly at its end happens too, despite rounding errors."""
        end_mono = self.clock.now().mono + seconds
        while (due_mono := self.settle()) <= end_mono + _ROUNDING_S:
            self.clock.go_to(due_mono)
        self.clock.go_to(max(end_mono, self.clock.now().mono))

    def next_thing(self) -> bool:
        """Do what can be done, then let time pass until something more is due; False if nothing ever is."""
        due_mono = self.settle()
        if due_mono == float("inf"):
            return False
        self.clock.go_to(due_mono)
        return True
