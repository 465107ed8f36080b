"""How much GPU memory a job will use, judged by earlier runs of its recipe."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from enum import Enum

from duckrow.core.memory.deciding import count_foretold, differ, effect_of, what_decides
from duckrow.core.memory.parameters import text_of
from duckrow.core.memory.similar_runs import MemoryEffect, Run, SeenPeaks, place_of
from duckrow.core.named_tuple import NamedTuple

MOST_RUNS = 256
"""Runs to remember per recipe and GPU model, each with different parameters; older ones are forgotten."""

_MOST_ANSWERS = 4096
_TELL_A_DISTRIBUTION = 8  # runs: with fewer, a rare large one may not have been seen yet
_LOST_BY_RUNNING_OUT = 2  # attempts: its own, and perhaps a neighbour's


class Basis(Enum):
    """What an expectation is based on, the most reliable first."""

    SET = "a person has said so"
    SAME = "the same command before"
    BETWEEN = "runs with less and with more"
    BEYOND = "runs with less"
    MOST = "what nearly all of its runs took"
    LARGEST = "the largest of its runs"


class Expected(NamedTuple):
    """What a job will use."""

    mb: int | None  # None: more than at_least_mb, but nobody knows how much
    basis: Basis
    deciding: tuple[str, ...] = ()  # the parameters it was predicted by
    at_least_mb: int = 0


class RecipePeak(NamedTuple):
    """The most memory that any run of a recipe has used on a GPU model."""

    peak_mb: int
    corrected: bool = False  # a person has said so
    runs: int = 0
    at: float = 0.0


class RunsOfRecipe:
    """What can be learned from the runs of a recipe on a GPU model. The runs do not change."""

    def __init__(self, runs: Sequence[Run]) -> None:
        """`runs`: the latest first."""
        self._runs = runs[:MOST_RUNS]
        self._same = {text_of(run.parameters): run.peak_mb for run in reversed(self._runs)}
        self._learned: dict[str, tuple[dict[str, MemoryEffect], SeenPeaks]] = {}  # by what a person says decides
        self._told: dict[tuple[str, str], Expected | None] = {}

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def largest_mb(self) -> int:
        """Of those that have ended; 0: none has."""
        return max((run.peak_mb for run in self._runs), default=0)

    def deciding(self, chosen: str = "") -> dict[str, MemoryEffect]:
        """`chosen`: names that a person has given, separated by commas; empty: learned from the runs."""
        return self._learn(chosen)[0]

    def foretold(self) -> tuple[int, int]:
        """(how many of its runs used what the others predict, of how many)."""
        return count_foretold(self._runs, self.deciding())

    def usual(self, largest_mb: int) -> Expected:
        """For a run unlike all others, where no parameter decides: the reservation that would cost least.

        Reserving as much as the largest used may waste memory; reserving less loses attempts that use more.
        """
        peaks = sorted(run.peak_mb for run in self._runs)
        if len(peaks) < _TELL_A_DISTRIBUTION or any(self._tells_of_others(*each) for each in self.deciding().items()):
            return Expected(largest_mb, Basis.LARGEST)
        best_mb, least = largest_mb, float(largest_mb)
        for mb in peaks:
            above = sum(differ(mb, other) for other in peaks if other > mb)
            run_out = (above + 1) / (len(peaks) + 2)  # one more than was seen: the next may be larger still
            cost = mb + run_out * (_LOST_BY_RUNNING_OUT * mb + largest_mb)
            if cost < least:
                best_mb, least = mb, cost
        return Expected(best_mb, Basis.MOST) if differ(best_mb, largest_mb) else Expected(largest_mb, Basis.LARGEST)

    def _tells_of_others(self, name: str, effect: MemoryEffect) -> bool:
        """Whether the values of a deciding parameter recur; those of an output folder do not."""
        values = {run.parameters.get(name) for run in self._runs}
        return effect is not MemoryEffect.DIFFERS or len(values) < len(self._runs)

    def expected(self, parameters: str, chosen: str = "") -> Expected | None:
        """`parameters`: as `text_of` writes them. None: no run is similar."""
        key = (parameters, chosen)
        if key not in self._told:
            if len(self._told) >= _MOST_ANSWERS:
                self._told.clear()
            self._told[key] = self._expected(parameters, chosen)
        return self._told[key]

    def _expected(self, parameters: str, chosen: str) -> Expected | None:
        if parameters in self._same:
            return Expected(self._same[parameters], Basis.SAME)
        effects, seen = self._learn(chosen)
        if not effects or not parameters:
            return None
        bounds = seen.bounds(place_of(json.loads(parameters), effects))
        if bounds is None:
            return None
        basis = Basis.BEYOND if bounds.is_beyond else Basis.BETWEEN
        return Expected(bounds.mb, basis, tuple(effects), bounds.at_least_mb)

    def _learn(self, chosen: str) -> tuple[dict[str, MemoryEffect], SeenPeaks]:
        if chosen not in self._learned:
            names = [name for name in chosen.split(",") if name]
            effects = (
                {name: effect_of(name, self._runs, names) for name in names} if names else what_decides(self._runs)
            )
            self._learned[chosen] = (effects, SeenPeaks.of(self._runs, effects))
        return self._learned[chosen]


_NOTHING = RunsOfRecipe(())


class Knowledge:
    """All that is known about recipes. Runs are read when somebody asks about a job of their recipe."""

    def __init__(
        self,
        peaks: Mapping[tuple[str, str], RecipePeak],
        runs_of: Callable[[str, str], RunsOfRecipe] = lambda recipe, model: _NOTHING,
    ) -> None:
        """Both by recipe and GPU model."""
        self.peaks = peaks
        self.runs_of = runs_of

    def expected(self, recipe: str, model: str, parameters: str = "", chosen: str = "") -> Expected | None:
        """None: nothing is known about the recipe."""
        peak = self.peaks.get((recipe, model))
        if peak is None:
            return None
        if peak.corrected:
            return Expected(peak.peak_mb, Basis.SET)
        runs = self.runs_of(recipe, model)
        return runs.expected(parameters, chosen) or runs.usual(peak.peak_mb)
