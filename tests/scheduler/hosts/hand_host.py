"""A host that turns its own loop, as `duckrow run` and a pilot do, on a clock that jumps to whatever is due next."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from duckrow.core.devices.inventory import Seat
from duckrow.core.devices.machine import Machine
from duckrow.core.ports import Observer
from duckrow.devices.discover import Offer
from duckrow.engines.dry.behaviour import Behaviour
from duckrow.engines.dry.clock import HandClock
from duckrow.engines.dry.engine import DryEngine
from duckrow.engines.dry.gpus import dry_reader
from duckrow.engines.dry.machine import DryMachine
from duckrow.engines.dry.reactor import HandReactor
from duckrow.scheduler.hosts.dry_host import DryHost
from duckrow.scheduler.hosts.host import Host
from duckrow.scheduler.loop import Loop
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import HostStore
from duckrow.store.sqlite.database import Database
from tests.scheduler.language import succeeds

_MOST_TURNS = 2_000


class JumpingReactor(HandReactor):
    """It waits by moving the clock."""

    def wait(self, at_most_s: float | None) -> None:
        super().wait(at_most_s)
        if self.rests_until is not None:
            self.clock.go_to(self.rests_until)


class HandSignals:
    """The signals of a host, sent by the test."""

    def __init__(self) -> None:
        self._calls: dict[int, tuple[Callable[[], None], Callable[[], None]]] = {}

    def on(self, number: int, call: Callable[[], None], when_alone: Callable[[], None] = lambda: None) -> None:
        self._calls[number] = call, when_alone

    def send(self, number: int) -> None:
        """As a terminal does: to all."""
        self._calls[number][0]()

    def send_to_one(self, number: int) -> None:
        for call in self._calls[number]:
            call()


class HandHost:
    """`does`: what each command does."""

    def __init__(
        self, home: Path, seats: list[Seat], does: dict[str, Behaviour], observer: Observer | None = None
    ) -> None:
        self.folder = Folder(str(home)).make()
        self.clock = HandClock()
        self.machine = DryMachine(lambda attempt: does.get(attempt.job.command, succeeds()))
        self.signals = HandSignals()
        self.database = Database(self.folder, durable=False)
        self._seats, self._observer = seats, observer
        self._turns = 0

    def begin(self, host_id: int | None = None) -> DryHost:
        """A new host, or the next life of an earlier one."""
        host_id = host_id or HostStore(self.database).add_run("run", "/", "")
        offer = Offer(self._seats, Machine())
        return DryHost(self.folder, offer, self.machine, self.clock, host_id, self._observer, begins=False)

    def jump(self, host: DryHost) -> None:
        """After a turn: go to the moment at which the next thing is due, if there is nothing to do now."""
        self._turns += 1
        assert self._turns < _MOST_TURNS, "it goes on for ever"
        due_mono = host.reactor.rests_until
        if due_mono is not None:
            assert due_mono < math.inf, "it would wait for ever"
            self.clock.go_to(due_mono)

    def states(self) -> list[str]:
        """The state of each job, or its outcome once it is done."""
        return [row[0] for row in self.database.all("SELECT coalesce(outcome, state) FROM jobs ORDER BY id")]

    def started(self) -> list[int]:
        return [order.job_id for order in self.machine.orders if order.what == "start"]

    def orders(self) -> list[str]:
        return [f"{order.what} {order.job_id} {order.number or ''}".strip() for order in self.machine.orders]


class DryLocalHost:
    """Stands in for `local_host`: the host is as always, and what it runs is dry."""

    def __init__(self, does: dict[str, Behaviour]) -> None:
        """`does`: what each command does."""
        self.clock = HandClock()
        self.reactor = JumpingReactor(self.clock)
        self.signals = HandSignals()
        self.machine = DryMachine(lambda attempt: does.get(attempt.job.command, succeeds()))
        self.database: Database  # of the host, which its process closes by its end

    def __call__(
        self, database: Database, host: Host, offer: Offer, link: object, observer: Observer, output: str = "log"
    ) -> tuple[Loop, HandSignals]:
        self.database = database
        engine, gpus = DryEngine(self.machine, self.reactor), dry_reader(self.machine, self.reactor)
        loop = Loop(database, host, offer.seats, engine, self.reactor, lambda _: gpus, observer, offer.machine)
        return loop, self.signals

    def live_again(self) -> None:
        """The next one is another process."""
        self.database.close()
        self.reactor = JumpingReactor(self.clock)

    def at(self, seconds: float, call: Callable[[], None]) -> None:
        self.reactor.later(seconds, call)

    def sends(self, number: int, after_s: float) -> None:
        self.at(after_s, lambda: self.signals.send(number))

    def orders(self) -> list[str]:
        return [f"{order.what} {order.job_id} {order.number or ''}".strip() for order in self.machine.orders]
