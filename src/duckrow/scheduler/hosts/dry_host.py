"""A host that runs no process: the real loop, with the dry engine and a clock that tests move."""

from __future__ import annotations

from duckrow.core.ports import DeviceSource, Observer
from duckrow.devices.discover import Offer
from duckrow.engines.dry.clock import HandClock
from duckrow.engines.dry.engine import DryEngine
from duckrow.engines.dry.gpus import DryGpus, HandReader
from duckrow.engines.dry.machine import DryMachine
from duckrow.engines.dry.reactor import HandReactor
from duckrow.scheduler.hosts.host import Host
from duckrow.scheduler.loop import Loop
from duckrow.store.folder.state_folder import Folder
from duckrow.store.hosts import DAEMON
from duckrow.store.sqlite.database import Database


class DryHost:
    """Several may share a folder, a machine and a clock; `Turning` lets time pass for all of them."""

    def __init__(
        self,
        folder: Folder,
        offer: Offer,
        machine: DryMachine,
        clock: HandClock,
        host_id: int = DAEMON,
        observer: Observer | None = None,
        begins: bool = True,
        source: DeviceSource | None = None,
    ) -> None:
        """`machine`: the devices as they are; `offer`: what the user says about them. There is no MPS.

        `begins`: False if the owner of the loop begins it. `source`: who is asked about GPUs, if not the machine.
        """
        self.database = Database(folder, durable=False)
        self.reactor = HandReactor(clock)
        self.engine = DryEngine(machine, self.reactor)
        self.loop = Loop(
            self.database,
            Host(folder, self.database, host_id),
            offer.seats,
            self.engine,
            self.reactor,
            lambda reactor: HandReader(reactor, source or DryGpus(machine, reactor)),
            observer,
            offer.machine,
        )
        if begins:
            self.loop.begin()

    def die(self) -> None:
        """As if killed: nothing more is written, and others see it at once. Running jobs keep running."""
        self.loop.host.release()
        self.reactor.close()
        self.database.close()

    def close(self) -> None:
        """End in good order."""
        self.loop.close()
        self.database.close()
