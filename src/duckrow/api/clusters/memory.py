"""Copies what is known about the memory of runs to a cluster and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from duckrow.clusters.batch import Batch
from duckrow.clusters.peaks import LOGIN, SharedPeak, SharedPeaks
from duckrow.store.devices.peaks import Peak, PeakStore
from duckrow.store.devices.recipe_runs import RecipeRun

if TYPE_CHECKING:
    from duckrow.core.jobs.job import JobSpec
    from duckrow.store.sqlite.database import Database


def take_peaks_along(database: Database, batch: Batch, specs: Sequence[JobSpec]) -> None:
    """Give the pilots of a new batch what is known here about the memory of their runs."""
    recipes = {spec.needs.recipe for spec in specs if spec.needs.recipe}
    if not recipes:
        return
    store = PeakStore(database)
    known = [peak for peak in store.all() if peak.recipe in recipes]
    if known:
        SharedPeaks(batch, LOGIN).tell(_shared_peak(store, peak) for peak in known)


def _shared_peak(store: PeakStore, peak: Peak) -> SharedPeak:
    called = [run[:2] for run in store.runs.latest(peak.recipe, peak.model)]
    return SharedPeak(peak.recipe, peak.model, peak.peak_mb, peak.runs, peak.corrected, called)


class PeaksFromBatch:
    def __init__(self, database: Database, batch: Batch) -> None:
        self._database = database
        self._store = PeakStore(database)
        self._shared = SharedPeaks(batch, LOGIN)

    def bring_home(self) -> None:
        """Copy what its pilots have learned since the last look."""
        told = self._shared.news()
        if not told:
            return
        known = {(peak.recipe, peak.model): peak for peak in self._store.all()}
        news = [peak for peak in told if peak[:2] not in known or peak[2:4] > known[peak[:2]][2:4]]
        if news:
            with self._database.transaction():
                for peak in news:
                    self._store.hear(peak.recipe, peak.model, peak.peak_mb, runs=peak.runs)
                    self._store.runs.hear(peak.recipe, peak.model, [RecipeRun(*call, runs=1) for call in peak.called])
