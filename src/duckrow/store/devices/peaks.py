"""The most memory that recipes have used on each GPU model: learned by hosts, corrected by users."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable

from duckrow.core.memory.knowledge import Knowledge, RecipePeak
from duckrow.core.named_tuple import NamedTuple
from duckrow.store.devices.paces import PaceStore
from duckrow.store.devices.recipe_runs import RecipeRunStore
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database, from_sql, to_sql

_SQL = load_queries("peaks")


class Peak(NamedTuple):
    """The most memory that a recipe has used on a GPU of this model."""

    recipe: str
    model: str  # empty: for GPUs that report no model
    peak_mb: int
    runs: int
    corrected: bool  # a person has said so
    at: float


class PeakStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self.runs = RecipeRunStore(database)
        self.paces = PaceStore(database)

    # -- what is known ----------------------------------------------------------------------------------------

    def known(self) -> Knowledge:
        """For a tick, or an answer. What single runs used is read when it is asked for."""
        rows = self._database.execute(_SQL["known"])
        return self._knowledge({(from_sql(row[0]), row[1]): _recipe_peak(*row[2:]) for row in rows})

    def renewed(self, known: Knowledge, recipe: str, model: str) -> Knowledge:
        """With what is now known about this recipe, after something was learned about it."""
        key = {"recipe": to_sql(recipe), "model": model}
        (row,) = self._database.execute(_SQL["peak"], key).fetchall()
        return self._knowledge({**known.peaks, (recipe, model): _recipe_peak(*row)})

    def _knowledge(self, peaks: dict[tuple[str, str], RecipePeak]) -> Knowledge:
        return Knowledge(peaks, lambda recipe, model: self.runs.of_recipe(recipe, model, peaks[recipe, model]))

    def all(self) -> list[Peak]:
        return [
            Peak(from_sql(row["recipe"]), row["model"], row["peak_mb"], row["runs"], bool(row["corrected"]), row["at"])
            for row in self._database.all(_SQL["peaks"])
        ]

    # -- what is learned, within the caller's transaction -----------------------------------------------------

    def learn(self, recipe: str, model: str, peak_mb: int, parameters: str | None = None, runs: int = 1) -> None:
        """A run of it has used this much. `parameters`: what it was called with; None: it may still use more.

        `runs`: 0 if it was counted before.
        """
        values = {"recipe": to_sql(recipe), "model": model, "peak_mb": peak_mb, "runs": runs, "at": time.time()}
        self._database.execute(_SQL["learn"], values)
        if parameters is not None:
            self.runs.learn(recipe, model, parameters, peak_mb, runs=1)

    def hear(self, recipe: str, model: str, peak_mb: int, corrected: bool = False, runs: int = 0) -> None:
        """Others have learned this, from `runs` runs."""
        values = {"recipe": to_sql(recipe), "model": model, "peak_mb": peak_mb, "runs": runs, "corrected": corrected}
        self._database.execute(_SQL["hear"], {**values, "at": time.time()})

    def take_over(self, other: PeakStore, recipes: Collection[str]) -> None:
        """Know all that another database knows about these recipes."""
        for peak in other.all():
            if peak.recipe in recipes:
                self.hear(peak.recipe, peak.model, peak.peak_mb, peak.corrected, peak.runs)
                self.runs.hear(peak.recipe, peak.model, other.runs.latest(peak.recipe, peak.model))
        for (recipe, model), pace in other.paces.known().items():
            if recipe in recipes:
                self.paces.learn(recipe, model, pace)

    # -- what a person says -----------------------------------------------------------------------------------

    def correct(self, keys: Iterable[tuple[str, str]], peak_mb: int) -> None:
        """Set the peak of each (recipe, model), whatever is observed."""
        with self._database.transaction():
            for recipe, model in keys:
                values = {"recipe": to_sql(recipe), "model": model, "peak_mb": peak_mb, "at": time.time()}
                self._database.execute(_SQL["correct"], values)

    def forget(self, keys: Iterable[tuple[str, str]]) -> None:
        with self._database.transaction():
            for recipe, model in keys:
                self._database.execute(_SQL["forget"], {"recipe": to_sql(recipe), "model": model})
                self.runs.forget(recipe, model)
                self.paces.forget(recipe, model)


def _recipe_peak(peak_mb: int, corrected: int, runs: int, at: float) -> RecipePeak:
    return RecipePeak(peak_mb, bool(corrected), runs, at)
