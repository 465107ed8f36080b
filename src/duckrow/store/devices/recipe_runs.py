"""How much GPU memory single runs of a recipe used, by GPU model and parameters: the latest few hundred."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable

from duckrow.core.memory.knowledge import MOST_RUNS, RecipePeak, RunsOfRecipe
from duckrow.core.memory.similar_runs import Run
from duckrow.core.named_tuple import NamedTuple
from duckrow.store.sqlite.connection import load_queries
from duckrow.store.sqlite.database import Database, from_sql, to_sql

_SQL = load_queries("recipe_runs")


class RecipeRun(NamedTuple):
    parameters: str  # JSON
    peak_mb: int  # the most of all runs with these parameters
    runs: int  # how many there were; 0: others have reported them


class RecipeRunStore:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._read: dict[tuple[str, str], tuple[RecipePeak, RunsOfRecipe]] = {}

    def latest(self, recipe: str, model: str) -> list[RecipeRun]:
        values = {"recipe": to_sql(recipe), "model": model, "most": MOST_RUNS}
        rows = self._database.all(_SQL["latest"], values)
        return [RecipeRun(from_sql(row["parameters"]), row["peak_mb"], row["runs"]) for row in rows]

    def of_recipe(self, recipe: str, model: str, as_of: RecipePeak) -> RunsOfRecipe:
        """Read once for each state of the recipe, which changes with every run."""
        known = self._read.get((recipe, model))
        if known is None or known[0] != as_of:
            runs = [
                Run(json.loads(run.parameters) if run.parameters else {}, run.peak_mb)
                for run in self.latest(recipe, model)
            ]
            known = self._read[recipe, model] = (as_of, RunsOfRecipe(runs))
        return known[1]

    # -- within the caller's transaction ----------------------------------------------------------------------

    def learn(self, recipe: str, model: str, parameters: str, peak_mb: int, runs: int) -> None:
        self._note("learn", recipe, model, [RecipeRun(parameters, peak_mb, runs)])

    def hear(self, recipe: str, model: str, told: Iterable[RecipeRun]) -> None:
        self._note("hear", recipe, model, told)

    def _note(self, how: str, recipe: str, model: str, noted: Iterable[RecipeRun]) -> None:
        key = {"recipe": to_sql(recipe), "model": model}
        for run in noted:
            values = {"parameters": to_sql(run.parameters), "peak_mb": run.peak_mb, "runs": run.runs}
            self._database.execute(_SQL[how], {**key, **values, "at": time.time()})
        self._database.execute(_SQL["forget_old"], {**key, "most": MOST_RUNS})

    def forget(self, recipe: str, model: str) -> None:
        self._database.execute(_SQL["forget"], {"recipe": to_sql(recipe), "model": model})
