"""What was learned about the memory of jobs, and how to correct it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from duckrow.api.adding.job_values import existing_folder, recipe_here
from duckrow.api.client import Client
from duckrow.core.errors import UsageError
from duckrow.core.memory.prediction import gpus_of, leaves_room, reserved_for
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.schedule.pace import BestPace
from duckrow.store.devices.peaks import Peak, PeakStore
from duckrow.store.devices.readings import ReadingStore
from duckrow.store.hosts import DAEMON

_SHOWN = 5


class KnownRecipe(NamedTuple):
    """What a recipe uses on a GPU model, and how sure that is."""

    peak: Peak
    deciding: list[str]  # parameters that decide it, judging by its runs
    foretold: int  # how many of its latest runs used what the others predict
    compared: int  # of how many
    pace: BestPace | None  # how many at a time are worth it; None: unknown, or as many as fit


class WouldReserve(NamedTuple):
    """What would be reserved for a command on a GPU model, and why."""

    recipe: str
    model: str
    reserved_mb: int | None  # None: it would get a GPU to itself
    expected_mb: int | None  # what it will use; None: unknown
    at_least_mb: int
    basis: str
    deciding: list[str]
    runs: int
    together: int | None  # how many at a time are worth it; None: as many as fit
    pace: str  # the same in words


class Memory:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._store = PeakStore(self._client.database)

    def peaks(self) -> list[Peak]:
        """In the order of their numbers, which start at 1."""
        return self._store.all()

    def recipes(self) -> list[KnownRecipe]:
        """The same, with what follows from the runs of each."""
        known, paces = self._store.known(), self._store.paces.known()
        told = ((peak, known.runs_of(peak.recipe, peak.model)) for peak in self.peaks())
        return [
            KnownRecipe(peak, sorted(runs.deciding()), *runs.foretold(), paces.get((peak.recipe, peak.model)))
            for peak, runs in told
        ]

    def would_reserve(self, command: str, cwd: str | None = None) -> list[WouldReserve]:
        """What a job with this command would get on each GPU model that its recipe has run on."""
        recipe = recipe_here(existing_folder(cwd), command)
        known, paces = self._store.known(), self._store.paces.known()
        here = gpus_of(self._client.seats(), self._client.hosts.machine(DAEMON))
        found = []
        for name, model in sorted(known.peaks):
            if name != recipe.recipe:
                continue
            expected = known.expected(name, model, recipe.parameters)
            assert expected is not None  # its recipe is known
            mb = reserved_for(expected)
            reserved = mb if mb is not None and leaves_room(mb, here.largest_mb()) else None
            why = (expected.mb, expected.at_least_mb, expected.basis.name.lower(), list(expected.deciding))
            pace = paces.get((name, model))
            told = (None, "") if pace is None else (pace.together, pace.words)
            found.append(WouldReserve(name, model, reserved, *why, known.peaks[name, model].runs, *told))
        return found

    def recipe_of(self, command: str, cwd: str | None = None) -> str:
        return recipe_here(existing_folder(cwd), command).recipe

    def correct(self, words: str, peak_mb: int, model: str | None) -> list[Peak]:
        """Set what a recipe uses, on all GPU models that it has run on or on one; returns the earlier values."""
        if peak_mb < 1:
            raise UsageError("0 is not a size. Write a size, or forget it: duckrow memory forget")
        peaks = self.peaks()
        chosen = _named(words, peaks)
        if model is not None:
            name = self._model(model, peaks)
            of_model = [peak for peak in chosen if peak.model == name]
            chosen = of_model or [chosen[0]._replace(model=name, runs=0)]
        self._store.correct([(peak.recipe, peak.model) for peak in chosen], peak_mb)
        self._client.ring_all()
        return chosen

    def forget(self, words: str | None) -> list[Peak]:
        """Forget one recipe, or all; returns what was known."""
        peaks = self.peaks()
        chosen = peaks if words is None else _named(words, peaks)
        self._store.forget([(peak.recipe, peak.model) for peak in chosen])
        self._client.ring_all()
        return chosen

    def _model(self, words: str, peaks: Sequence[Peak]) -> str:
        """A model that was seen here before: a mistyped one would never match."""
        read = (reading.told.get("model") or "" for reading in ReadingStore(self._client.database).readings().values())
        known = sorted({*(peak.model for peak in peaks), *read} - {""})
        found = _matching(words, known)
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(f"'{words}' names several GPU models: {', '.join(found)}. Be more specific.")
        raise UsageError(f"No GPU model '{words}' has been seen here. Known: {', '.join(known) or 'none'}.")


def _named(words: str, peaks: Sequence[Peak]) -> list[Peak]:
    """A number chooses that line of the listing; a part of the text chooses all lines of the recipe."""
    if not peaks:
        raise UsageError("Nothing has been learned yet. duckrow learns from jobs with --pack or --gpu-mem auto.")
    if re.fullmatch(r"\d{1,9}", words):
        if not 1 <= int(words) <= len(peaks):
            raise UsageError(f"There is no number {words}: `duckrow memory` shows 1 to {len(peaks)}.")
        return [peaks[int(words) - 1]]
    recipes = list(dict.fromkeys(peak.recipe for peak in peaks))
    found = _matching(words, recipes)
    if not found:
        raise UsageError(f"No recipe has '{words}' in it. `duckrow memory` lists them.")
    if len(found) > 1:
        shown = "\n".join(f"  {recipe}" for recipe in found[:_SHOWN])
        more = f"\n  and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise UsageError(f"'{words}' is in several recipes. Be more specific, or write its number:\n{shown}{more}")
    return [peak for peak in peaks if peak.recipe == found[0]]


def _matching(words: str, texts: Sequence[str]) -> list[str]:
    """The text that is equal, else those that contain these words."""
    if words in texts:
        return [words]
    return [text for text in texts if words.lower() in text.lower()] if words.strip() else []
