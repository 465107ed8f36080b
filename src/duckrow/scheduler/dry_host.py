"""A host on which nothing runs: the loop as it is, with the dry engine and a clock turned by hand."""

from __future__ import annotations

from collections.abc import Sequence

from duckrow.core.inventory import Seat
from duckrow.core.machine import Machine
from duckrow.core.policy import NO_POLICY, Policy
from duckrow.core.ports import Observer
from duckrow.engines.dry.clock import HandClock
from duckrow.engines.dry.engine import DryEngine
from duckrow.engines.dry.gpus import DryGpus
from duckrow.engines.dry.machine import DryMachine
from duckrow.engines.dry.reactor import HandReactor
from duckrow.scheduler.host import Host
from duckrow.scheduler.loop import Loop
from duckrow.store.database import Database
from duckrow.store.folder import Folder
from duckrow.store.hosts import DAEMON


class DryHost:
    """Several may share a folder, a machine and a clock; `Turning` lets time pass for all of them."""

    def __init__(
        self,
        folder: Folder,
        seats: Sequence[Seat],
        machine: DryMachine,
        clock: HandClock,
        host_id: int = DAEMON,
        observer: Observer | None = None,
        policy: Policy = NO_POLICY,
    ) -> None:
        self.database = Database(folder, durable=False)
        self.reactor = HandReactor(clock)
        self.engine = DryEngine(machine, self.reactor)
        self.loop = Loop(
            self.database,
            Host(folder, self.database, host_id),
            seats,
            self.engine,
            self.reactor,
            lambda reactor: DryGpus(machine, reactor),
            observer,
            Machine(machine.gpus_mb, policy=policy.but(mps="off")),
        )
        self.loop.begin()

    def die(self) -> None:
        """As if killed: nothing more is written, and others see it at once. What runs goes on."""
        self.loop.host.release()
        self.reactor.close()
        self.database.close()

    def close(self) -> None:
        """End in good order."""
        self.loop.close()
        self.database.close()
