"""The signals of a host: those that it gets itself and those that its keeper reports, each counted once."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

from duckrow.core.ports import Reactor
from duckrow.engines.local.keeper.signal_counting import COPY_S, TwiceHeard
from duckrow.engines.local.keeper.signal_link import HostEnd


class HostSignals:
    def __init__(self, reactor: Reactor, link: HostEnd, now: Callable[[], float] = time.monotonic) -> None:
        self._reactor = reactor
        self._link = link
        self._now = now
        self._calls: dict[int, Callable[[], None]] = {}
        self._when_alone: dict[int, Callable[[], None]] = {}
        self._counts: dict[int, TwiceHeard] = {}
        self._arrivals = 0
        self._arrivals_when_asked = 0

    def on(self, number: int, call: Callable[[], None], when_alone: Callable[[], None] = lambda: None) -> None:
        """Call once for each of these signals.

        `when_alone`: what else to do once it is known that it was sent to one process, not to the whole group as by a
        terminal. That takes a moment.
        """
        if not self._calls:
            self._reactor.watch(self._link.fd, self._keeper_tells)
            self._link.ask()
        self._calls[number] = call
        self._when_alone[number] = when_alone
        self._counts[number] = TwiceHeard()
        self._reactor.on_signal(number, lambda: self._heard(number))

    def _heard(self, number: int) -> None:
        self._arrived()
        if self._counts[number].heard(self._now()):
            self._calls[number]()

    def _keeper_tells(self) -> None:
        number = self._link.news()
        if number is None:
            self._reactor.unwatch(self._link.fd)
        elif number == 0:
            self._settle()
        elif number not in self._calls:
            signal.raise_signal(number)  # do what it would have done if it had come to us
        else:
            self._arrived()
            if self._counts[number].told():
                self._calls[number]()

    def _arrived(self) -> None:
        """After a quiet moment, ask the keeper whether that is all: it may have been stopped."""
        self._arrivals += 1
        arrivals = self._arrivals

        def ask_if_quiet() -> None:
            if self._arrivals == arrivals:
                self._arrivals_when_asked = arrivals
                self._link.ask()

        self._reactor.later(COPY_S, ask_if_quiet)

    def _settle(self) -> None:
        if self._arrivals == self._arrivals_when_asked:
            for number, count in self._counts.items():
                if count.settle():
                    self._when_alone[number]()
