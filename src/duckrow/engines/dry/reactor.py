"""A reactor that never sleeps: it says until when it would sleep, and the owner of the clock moves the clock."""

from __future__ import annotations

import heapq
import itertools
import math
import select
import time
from collections.abc import Callable

from duckrow.core.clock import Now
from duckrow.engines.dry.clock import HandClock

Call = Callable[[], None]


class HandAlarm:
    def __init__(self, clock: HandClock, which: int, ring: Call) -> None:
        self._clock = clock
        self._is_wall = which == time.CLOCK_REALTIME
        self._ring = ring
        self._moment: float | None = None
        self._settings = clock.settings

    def set_for(self, moment: float | None) -> None:
        self._moment = moment

    def close(self) -> None:
        self._moment = None

    def left_s(self) -> float:
        """How long until it rings."""
        if self._is_wall and self._settings != self._clock.settings:
            return 0.0
        now = self._clock.now()
        return math.inf if self._moment is None else self._moment - (now.wall if self._is_wall else now.boot)

    def ring_if_due(self) -> bool:
        if self.left_s() > 0:
            return False
        self._settings = self._clock.settings
        self._moment = None  # it must be set again
        self._ring()
        return True


class HandReactor:
    """Files are real, and polled without waiting: a bell works here as it does elsewhere."""

    def __init__(self, clock: HandClock) -> None:
        self.clock = clock
        self.rests_until: float | None = None  # on the monotonic clock, if nothing happens; None: there is more to do
        self._epoll = select.epoll()
        self._calls: dict[int, Call] = {}
        self._timers: list[tuple[float, int, Call]] = []
        self._numbers = itertools.count()
        self._alarms: list[HandAlarm] = []
        self._signal_calls: dict[int, Call] = {}

    def now(self) -> Now:
        return self.clock.now()

    def watch(self, fd: int, call: Call) -> None:
        self._calls[fd] = call
        self._epoll.register(fd, select.EPOLLIN)

    def unwatch(self, fd: int) -> None:
        if self._calls.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def later(self, seconds: float, call: Call) -> None:
        heapq.heappush(self._timers, (self.now().mono + seconds, next(self._numbers), call))

    def alarm(self, clock: int, ring: Call) -> HandAlarm:
        alarm = HandAlarm(self.clock, clock, ring)
        self._alarms.append(alarm)
        return alarm

    def on_signal(self, number: int, call: Call) -> None:
        self._signal_calls[number] = call

    def heard(self, number: int) -> bool:
        return False  # each has been answered at once

    def signal(self, number: int) -> None:
        """Act as if this signal had come."""
        self._signal_calls[number]()

    def wait(self, at_most_s: float | None) -> None:
        """Make the calls that are due. If there are none and there is time, note until when nothing is due."""
        mono = self.now().mono
        did = self._look_at_files()
        did = sum(alarm.ring_if_due() for alarm in self._alarms) > 0 or did
        while self._timers and self._timers[0][0] <= mono:
            heapq.heappop(self._timers)[2]()
            did = True
        if did or at_most_s == 0:
            self.rests_until = None
            return
        due_mono = [mono + alarm.left_s() for alarm in self._alarms]
        due_mono += [self._timers[0][0]] if self._timers else []
        due_mono += [mono + at_most_s] if at_most_s is not None else []
        self.rests_until = max(min(due_mono, default=math.inf), math.nextafter(mono, math.inf))

    def _look_at_files(self) -> bool:
        ready = [self._calls[fd] for fd, _ in self._epoll.poll(0) if fd in self._calls]
        for call in ready:
            call()
        return bool(ready)

    def close(self) -> None:
        self._timers, self._alarms = [], []
        self._epoll.close()
