"""Sleeps until something happens: a file becomes readable, a timer is due, a signal comes."""

from __future__ import annotations

import heapq
import itertools
import os
import select
import signal
import time
from collections.abc import Callable

from duckrow.core.clock import Now
from duckrow.scheduler.alarm import KernelAlarm

Call = Callable[[], None]


class EpollReactor:
    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._calls: dict[int, Call] = {}
        self._timers: list[tuple[float, int, Call]] = []
        self._numbers = itertools.count()
        self._signal_calls: dict[int, Call] = {}
        self._heard: set[int] = set()

    def now(self) -> Now:
        return Now(time.time(), time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME))

    def watch(self, fd: int, call: Call) -> None:
        self._calls[fd] = call
        self._epoll.register(fd, select.EPOLLIN)

    def unwatch(self, fd: int) -> None:
        """Call this before closing the file: a closed file cannot be unregistered."""
        if self._calls.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def later(self, seconds: float, call: Call) -> None:
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._numbers), call))

    def alarm(self, clock: int, ring: Call) -> KernelAlarm:
        alarm = KernelAlarm(clock)

        def rang() -> None:
            alarm.hush()
            ring()

        self.watch(alarm.fd, rang)
        return alarm

    def on_signal(self, number: int, call: Call) -> None:
        """Call this for each of these signals, in the loop and never in between; for SIGCHLD, once for many."""
        if not self._signal_calls:
            reading, writing = os.pipe()
            for end in (reading, writing):
                os.set_blocking(end, False)
            signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
            self.watch(reading, lambda: self._signalled(os.read(reading, 4096)))
        self._signal_calls[number] = call
        signal.signal(number, lambda number, _: self._heard.add(number))

    def heard(self, number: int) -> bool:
        if number not in self._heard:
            return False
        self._heard.discard(number)
        return True

    def _signalled(self, numbers: bytes) -> None:
        if signal.SIGCHLD in numbers:
            self._signal_calls[signal.SIGCHLD]()
        for number in numbers:
            if number != signal.SIGCHLD and number in self._signal_calls:
                self._signal_calls[number]()

    def wait(self, at_most_s: float | None) -> None:
        """Sleep until something happens or the time is up, then make the calls that are due."""
        timeout = at_most_s
        if self._timers:
            due_in = max(self._timers[0][0] - time.monotonic(), 0.0)
            timeout = due_in if timeout is None else min(timeout, due_in)
        for fd, _ in self._epoll.poll(timeout):
            call = self._calls.get(fd)
            if call is not None:
                call()
        while self._timers and self._timers[0][0] <= time.monotonic():
            heapq.heappop(self._timers)[2]()

    def close(self) -> None:
        self._epoll.close()
