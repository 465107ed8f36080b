"""Shares what a pilot learns about its runs' memory with the other pilots of the batch, and reads what they share."""

from __future__ import annotations

from duckrow.clusters.peaks import SharedPeak, SharedPeaks
from duckrow.core.memory.knowledge import Knowledge
from duckrow.scheduler.loop import Loop
from duckrow.store.devices.peaks import Peak, PeakStore
from duckrow.store.devices.recipe_runs import RecipeRun


class PilotMemory:
    def __init__(self, loop: Loop, shared: SharedPeaks) -> None:
        self._loop = loop
        self._shared = shared
        self._store = PeakStore(loop.database)
        self._told: Knowledge | None = None  # what we knew when we last told the others

    def tell(self) -> None:
        """Called before the result of a run is written, so that nobody sees the result without it."""
        known = self._loop.state.known_memory
        if known is self._told:  # a new object whenever something was learned
            return
        self._told = known
        own = [self._shared_peak(peak) for peak in self._store.all() if peak.runs]
        if own:
            self._shared.tell(own)

    def _shared_peak(self, peak: Peak) -> SharedPeak:
        """Only what we have seen ourselves: the rest came from others."""
        own = [run[:2] for run in self._store.runs.latest(peak.recipe, peak.model) if run.runs]
        return SharedPeak(peak.recipe, peak.model, peak.peak_mb, peak.runs, called=own)

    def hear(self) -> None:
        news = self._shared.news()
        if not news:
            return
        with self._loop.database.transaction():
            for peak in news:
                self._store.hear(peak.recipe, peak.model, peak.peak_mb, peak.corrected)
                self._store.runs.hear(peak.recipe, peak.model, [RecipeRun(*call, runs=0) for call in peak.called])
        self._loop.watch.learning.load()
        self._told = self._loop.state.known_memory
        self._loop.state.look_again()
