"""What the scheduler reads and writes in a tick, by noun. Each call is part of the tick's one transaction."""

from __future__ import annotations

from duckrow.store.attempts.attempts import AttemptStore
from duckrow.store.attempts.events import EventStore
from duckrow.store.attempts.reservations import ReservationStore
from duckrow.store.attempts.use import AttemptUseStore
from duckrow.store.devices.peaks import PeakStore
from duckrow.store.devices.readings import ReadingStore
from duckrow.store.devices.wishes import DeviceWishStore
from duckrow.store.jobs.queue import QueueStore
from duckrow.store.life.dependencies import DependencyStore
from duckrow.store.life.moves import MoveStore
from duckrow.store.life.reruns import RerunStore
from duckrow.store.life.suspension import SuspensionStore
from duckrow.store.life.wishes import WishStore
from duckrow.store.limits import LimitStore
from duckrow.store.sqlite.database import Database


class TickStores:
    """Only groups them, for one host."""

    def __init__(self, database: Database, host_id: int) -> None:
        self.dependencies = DependencyStore(database)
        self.moves = MoveStore(database, self.dependencies)
        self.reruns = RerunStore(database, self.moves, self.dependencies)
        self.queue = QueueStore(database, host_id)
        self.attempts = AttemptStore(database, host_id, self.moves)
        self.use = AttemptUseStore(database)
        self.reservations = ReservationStore(database, host_id)
        self.events = EventStore(database)
        self.suspensions = SuspensionStore(database, self.events)
        self.wishes = WishStore(database)
        self.device_wishes = DeviceWishStore(database)
        self.limits = LimitStore(database)
        self.readings = ReadingStore(database)
        self.peaks = PeakStore(database)
