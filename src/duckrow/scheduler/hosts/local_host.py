"""A host whose jobs become processes of this machine: the loop with the local engine, and the signals it hears."""

from __future__ import annotations

from duckrow.core.named_tuple import NamedTuple
from duckrow.core.ports import GpuReader, MpsServer, Observer, Reactor
from duckrow.devices.discover import Offer
from duckrow.engines.local.engine import LocalEngine
from duckrow.engines.local.keeper.link import KeeperLink
from duckrow.scheduler.hosts.host import Host
from duckrow.scheduler.hosts.signals import HostSignals
from duckrow.scheduler.loop import Loop
from duckrow.scheduler.reactor import EpollReactor
from duckrow.store.jobs.jobs import JobStore
from duckrow.store.sqlite.database import Database


class LocalHost(NamedTuple):
    loop: Loop
    signals: HostSignals


def gpu_reader(reactor: Reactor) -> GpuReader:
    from duckrow.devices.discover import source  # most runs never read a GPU
    from duckrow.scheduler.devices.device_reader import DeviceReader

    return DeviceReader(reactor, source())


def mps_server(root: str) -> MpsServer:
    from duckrow.engines.local.mps import Mps  # most hosts share no GPU

    return Mps(root)


def _folder_for_bytecode() -> str | None:
    from duckrow.store.folder.bytecode_folder import bytecode_folder  # few hosts preload, and fewer need it

    return bytecode_folder()


def local_host(
    database: Database, host: Host, offer: Offer, link: KeeperLink, observer: Observer, output: str = "log"
) -> LocalHost:
    reactor = EpollReactor()
    engine = LocalEngine(
        reactor, host.folder.keepers, link, JobStore(database).environment, output, _folder_for_bytecode
    )
    loop = Loop(database, host, offer.seats, engine, reactor, gpu_reader, observer, offer.machine, mps_server)
    return LocalHost(loop, HostSignals(reactor, link.signals))
