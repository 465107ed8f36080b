"""What people want of the daemon's devices: add, drain (a standing wish), remove."""

from __future__ import annotations

import time

from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

_SQL = load_queries("device_wishes")


class DeviceWishStore:
    """All writing happens within the caller's transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> dict[str, str]:
        return {row[0]: row[1] for row in self._database.all(_SQL["device_wishes"])}

    def wish(self, device: str, wish: str) -> None:
        self._database.execute(_SQL["wish"], {"device": device, "wish": wish, "at": time.time()})

    def forget(self, device: str) -> None:
        self._database.execute(_SQL["forget"], {"device": device})
