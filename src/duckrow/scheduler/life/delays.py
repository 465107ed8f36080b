"""Jobs that must not start yet, and the alarms for the next of them."""

from __future__ import annotations

import time

from duckrow.core.clock import Now
from duckrow.core.ports import Reactor
from duckrow.scheduler.state.host_state import HostState
from duckrow.store.life.delays import DelayStore


class Delays:
    def __init__(self, state: HostState, store: DelayStore, reactor: Reactor) -> None:
        self._state = state
        self._store = store
        self._wall = reactor.alarm(time.CLOCK_REALTIME, self._ring)
        self._boot = reactor.alarm(time.CLOCK_BOOTTIME, self._ring)
        self._next_wall: float | None = None
        self._next_boot: float | None = None
        self.rang = False  # there may be something to do

    def begin(self) -> None:
        self._store.end_those_of_earlier_boots()

    def look(self) -> None:
        """Others may have added some."""
        self._next_wall, self._next_boot = self._store.next()
        self._set_alarms()

    def requeued(self, wait_s: float, now: Now) -> None:
        """We have queued a job again, for now or for later."""
        self._state.look_again()
        if wait_s and (self._next_boot is None or now.boot + wait_s < self._next_boot):
            self._next_boot = now.boot + wait_s
            self._set_alarms()

    def release(self, now: Now) -> None:
        """From now on, jobs whose time has come wait like all others."""
        rang, self.rang = self.rang, False
        is_due = _is_due(self._next_wall, now.wall) or _is_due(self._next_boot, now.boot)
        if is_due:
            self._store.release(now)
            self._state.look_again()
        if is_due or rang:
            self.look()

    def restate(self, now: Now) -> None:
        self._store.restate(now)

    def _ring(self) -> None:
        self.rang = True

    def _set_alarms(self) -> None:
        self._wall.set_for(self._next_wall)
        self._boot.set_for(self._next_boot)

    def close(self) -> None:
        self._wall.close()
        self._boot.close()


def _is_due(moment: float | None, now: float) -> bool:
    return moment is not None and moment <= now
