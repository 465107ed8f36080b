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
        self._wall = reactor.alarm(time.CLOCK_REALTIME, state.delays.ring)
        self._boot = reactor.alarm(time.CLOCK_BOOTTIME, state.delays.ring)

    def begin(self) -> None:
        self._store.end_those_of_earlier_boots()

    def look(self) -> None:
        """Others may have added some."""
        self._state.delays.are(*self._store.next())
        self._set_alarms()

    def requeued(self, wait_s: float, now: Now) -> None:
        """We have queued a job again, for now or for later."""
        self._state.look_again()
        if wait_s and self._state.delays.note(now.boot + wait_s):
            self._set_alarms()

    def release(self, now: Now) -> None:
        """From now on, jobs whose time has come wait like all others."""
        rang, is_due = self._state.delays.hush(), self._state.delays.is_due(now)
        if is_due:
            self._store.release(now)
            self._state.look_again()
        if is_due or rang:
            self.look()

    def restate(self, now: Now) -> None:
        self._store.restate(now)

    def _set_alarms(self) -> None:
        self._wall.set_for(self._state.delays.wall)
        self._boot.set_for(self._state.delays.boot)

    def close(self) -> None:
        self._wall.close()
        self._boot.close()
