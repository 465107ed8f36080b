"""What the scheduler reads and writes in a tick, by noun. Each call is part of the tick's one transaction."""

from __future__ import annotations

from duckrow.store.attempt_use import AttemptUseStore
from duckrow.store.attempts import AttemptStore
from duckrow.store.database import Database
from duckrow.store.dependencies import DependencyStore
from duckrow.store.device_wishes import DeviceWishStore
from duckrow.store.events import EventStore
from duckrow.store.limits import LimitStore
from duckrow.store.moves import MoveStore
from duckrow.store.peaks import PeakStore
from duckrow.store.queue import QueueStore
from duckrow.store.readings import ReadingStore
from duckrow.store.reruns import RerunStore
from duckrow.store.reservations import ReservationStore
from duckrow.store.suspension import SuspensionStore
from duckrow.store.wishes import WishStore


class TickStores:
    """Only holds them, for one host."""

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
