"""What starters need of a host, in the process of the test: a journal, a spawner, a reactor."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from duckrow.core.ports import StartOrder
from duckrow.engines.local.cgroups.attempt_groups import AttemptGroups
from duckrow.engines.local.keeper.journal import JournalWriter, Record
from duckrow.engines.local.preload.preloading import PreloadedParents
from duckrow.engines.local.spawner import Spawner
from duckrow.engines.local.starters.starters import Starters
from duckrow.scheduler.reactor import EpollReactor
from tests.conftest import until
from tests.core.language import attempt, job

NO_KEEPER: Any = None  # a spawner asks it for nothing but capped logs


class StarterHost:
    def __init__(self, folder: Path, reactor: EpollReactor) -> None:
        self.folder = folder
        self.reactor = reactor
        self.journal = JournalWriter(str(folder))
        self._pipe = os.pipe()  # of which a keeper would have the other end
        parents = PreloadedParents(self.reactor, lambda: None)
        groups = AttemptGroups(self.reactor, str(folder), self.journal.name)
        self.spawner = Spawner(NO_KEEPER, lambda _: dict(os.environ), "log", parents, groups)
        self.starters = Starters(self.journal, self.spawner, self.reactor, self._pipe[0], self.hear)
        self._block = folder / "block"
        self.heard: dict[int, Record] = {}  # attempt -> the last word about it
        self.ends: list[int] = []  # attempts, in the order in which we hear of their ends

    def order(self, number: int, command: str = "true", follows: int | None = None) -> StartOrder:
        folder = f"{self.folder}/runs/{number}"
        made = attempt(
            job(id=number, command=command, cwd="/"),
            keeper=self.journal.name,
            log=f"{folder}/attempt-1.log",
            follows=follows,
        )
        return StartOrder(made, folder, {})

    def line(self, *commands: str) -> list[StartOrder]:
        """Each follows the one before it."""
        orders: list[StartOrder] = []
        for number, command in enumerate(commands, 1):
            orders.append(self.order(number, command, orders[-1].attempt.id if orders else None))
        return orders

    def blocked(self, then: str = "exit 0") -> str:
        """A command that waits for `unblock`, or for the end of the test."""
        self._block.touch()
        return f"while test -e {self._block}; do sleep 0.01; done; {then}"

    def unblock(self) -> None:
        self._block.unlink(missing_ok=True)

    def hear(self) -> None:
        for order, record in self.starters.news():
            self.heard[order.attempt.id] = record
            if record.has_ended:
                self.ends.append(order.attempt.id)

    def wait_until(self, condition: Callable[[], Any], what: str) -> None:
        def look() -> Any:
            self.reactor.wait(0)
            return condition()

        until(look, what)

    def wait_for_ends(self, orders: list[StartOrder]) -> None:
        wanted = [order.attempt.id for order in orders]
        self.wait_until(lambda: set(wanted) <= set(self.ends), "the ends of these")

    def wait_for_process(self, order: StartOrder) -> int:
        """The PID, once we have heard of it."""

        def pid() -> int | None:
            self.hear()
            record = self.heard.get(order.attempt.id)
            return None if record is None else record.pid

        self.wait_until(pid, "its process")
        return pid() or 0

    def close(self) -> None:
        self.unblock()
        self.starters.let_go()
        self.starters.close()
        self.spawner.close()
        self.journal.shared_no_more()
        for fd in (*self._pipe, self.journal.fd):
            os.close(fd)
