"""The most memory that recipes have used on each GPU model: learned by hosts, corrected by users."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database, from_sql, to_sql

_SQL = load_queries("peaks")


class Peak(NamedTuple):
    """What a recipe has taken at most on a GPU of this model."""

    recipe: str
    model: str  # empty: of GPUs that tell no model
    peak_mb: int
    runs: int
    corrected: bool  # a person has said so
    at: float


class PeakStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    # -- what is known ----------------------------------------------------------------------------------------

    def known(self) -> dict[tuple[str, str], int]:
        """(recipe, model) -> MB, for a tick."""
        return {(from_sql(row[0]), row[1]): row[2] for row in self._database.execute(_SQL["known"])}

    def all(self) -> list[Peak]:
        return [
            Peak(from_sql(row["recipe"]), row["model"], row["peak_mb"], row["runs"], bool(row["corrected"]), row["at"])
            for row in self._database.all(_SQL["peaks"])
        ]

    # -- what is learned, within the caller's transaction -----------------------------------------------------

    def learn(self, recipe: str, model: str, peak_mb: int) -> None:
        """A run of it has taken this much."""
        values = {"recipe": to_sql(recipe), "model": model, "peak_mb": peak_mb, "at": time.time()}
        self._database.execute(_SQL["learn"], values)

    def hear(self, recipe: str, model: str, peak_mb: int, corrected: bool = False, runs: int = 0) -> None:
        """Others have learned this, from `runs` runs."""
        values = {"recipe": to_sql(recipe), "model": model, "peak_mb": peak_mb, "runs": runs, "corrected": corrected}
        self._database.execute(_SQL["hear"], {**values, "at": time.time()})

    # -- what a person says -----------------------------------------------------------------------------------

    def correct(self, keys: Iterable[tuple[str, str]], peak_mb: int) -> None:
        """So much it is for each (recipe, model), whatever is observed."""
        with self._database.transaction():
            for recipe, model in keys:
                values = {"recipe": to_sql(recipe), "model": model, "peak_mb": peak_mb, "at": time.time()}
                self._database.execute(_SQL["correct"], values)

    def forget(self, keys: Iterable[tuple[str, str]]) -> None:
        with self._database.transaction():
            for recipe, model in keys:
                self._database.execute(_SQL["forget"], {"recipe": to_sql(recipe), "model": model})
