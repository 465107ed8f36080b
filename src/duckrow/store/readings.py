"""What the hosts have seen of the GPUs, as people ask for it: readings, and the peaks that were learned."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from duckrow.store.connection import load_queries
from duckrow.store.database import Database, from_sql, to_sql

_SQL = load_queries("readings")


class KeptReading(NamedTuple):
    """A GPU as a host has last read it."""

    at: float
    mono: float
    told: dict[str, Any]


class Peak(NamedTuple):
    """What a recipe has taken at most on a GPU of this model."""

    recipe: str
    model: str  # empty: of GPUs that tell no model
    peak_mb: int
    runs: int
    corrected: bool  # a person has said so
    at: float


class ReadingStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    def looked_at_until(self) -> float:
        """Until when somebody wants the GPUs to be read, by the monotonic clock; 0: nobody ever has."""
        return float(self.database.one(_SQL["looked_at_until"]) or 0)

    def look_until(self, until_mono: float) -> None:
        with self.database.transaction():
            self.database.execute(_SQL["look_until"], {"until": str(until_mono)})

    def readings(self) -> dict[str, KeptReading]:
        rows = self.database.all(_SQL["readings"])
        return {row["device"]: _kept(row["at"], json.loads(row["reading"])) for row in rows}

    def peaks(self) -> list[Peak]:
        return [
            Peak(from_sql(row["recipe"]), row["model"], row["peak_mb"], row["runs"], bool(row["corrected"]), row["at"])
            for row in self.database.all(_SQL["peaks"])
        ]

    def correct(self, keys: Iterable[tuple[str, str]], peak_mb: int) -> None:
        """So much it is for each (recipe, model), whatever is observed."""
        with self.database.transaction():
            for recipe, model in keys:
                values = {"recipe": to_sql(recipe), "model": model, "peak_mb": peak_mb, "at": time.time()}
                self.database.execute(_SQL["correct"], values)

    def hear(self, recipe: str, model: str, peak_mb: int, corrected: bool = False, runs: int = 0) -> None:
        """Within the caller's transaction: others have learned this, from so many runs."""
        values = {"recipe": to_sql(recipe), "model": model, "peak_mb": peak_mb, "runs": runs, "corrected": corrected}
        self.database.execute(_SQL["hear"], {**values, "at": time.time()})

    def forget(self, keys: Iterable[tuple[str, str]]) -> None:
        with self.database.transaction():
            for recipe, model in keys:
                self.database.execute(_SQL["forget"], {"recipe": to_sql(recipe), "model": model})


def learned_peaks(database: Database) -> dict[tuple[str, str], int]:
    """What each recipe has taken at most on each model of GPU."""
    return {(peak.recipe, peak.model): peak.peak_mb for peak in ReadingStore(database).peaks()}


def _kept(at: float, told: dict[str, Any]) -> KeptReading:
    """One that a host of an older version has written says nothing of the monotonic clock."""
    return KeptReading(at, told.get("mono", time.monotonic() - (time.time() - at)), told)
