"""How many jobs of a recipe are worth running at a time on a GPU model: found out by hosts."""

from __future__ import annotations

import time
from collections.abc import Mapping

from duckrow.core.schedule.pace import BestPace
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database, from_sql, to_sql

_SQL = load_queries("paces")


class PaceStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    def known(self) -> Mapping[tuple[str, str], BestPace]:
        """By recipe and model."""
        rows = self._database.execute(_SQL["known"])
        return {(from_sql(row[0]), row[1]): BestPace(*row[2:]) for row in rows}

    def learn(self, recipe: str, model: str, pace: BestPace) -> None:
        """Within the caller's transaction."""
        values = {"recipe": to_sql(recipe), "model": model, "at": time.time(), **pace._asdict()}
        self._database.execute(_SQL["learn"], values)

    def forget(self, recipe: str, model: str) -> None:
        """Within the caller's transaction."""
        self._database.execute(_SQL["forget"], {"recipe": to_sql(recipe), "model": model})
