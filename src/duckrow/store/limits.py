"""How many jobs of a scope (`project:NAME`, `array:ID`) may run at a time."""

from __future__ import annotations

from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database

_SQL = load_queries("limits")


class LimitStore:
    """All writing happens within the caller's transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> dict[str, int]:
        return {row[0]: row[1] for row in self._database.all(_SQL["limits"])}

    def set(self, scope: str, max_running: int | None) -> None:
        """None: as many as there is room for."""
        if max_running is None:
            self._database.execute(_SQL["clear"], {"scope": scope})
        else:
            self._database.execute(_SQL["set"], {"scope": scope, "max_running": max_running})
