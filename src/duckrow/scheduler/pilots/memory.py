"""What a pilot learns of the memory of its runs, told to the other pilots of the batch; and what it hears from them."""

from __future__ import annotations

from duckrow.clusters.peaks import SharedPeak, SharedPeaks
from duckrow.scheduler.loop import Loop
from duckrow.store.devices.peaks import PeakStore


class PilotMemory:
    def __init__(self, loop: Loop, shared: SharedPeaks) -> None:
        self._loop = loop
        self._shared = shared
        self._store = PeakStore(loop.database)
        self._told: dict[tuple[str, str], int] = {}  # as it was when we last told the others

    def tell(self) -> None:
        """Before the result of a run is there, so that nobody sees the one without the other."""
        known = self._loop.watch.learning.peaks
        if known is self._told:  # it is another dict whenever something was learned
            return
        self._told = known
        own = [SharedPeak(p.recipe, p.model, p.peak_mb, p.runs) for p in self._store.all() if p.runs]
        if own:
            self._shared.tell(own)

    def hear(self) -> None:
        news = self._shared.news()
        if not news:
            return
        with self._loop.database.transaction():
            for peak in news:
                self._store.hear(peak.recipe, peak.model, peak.peak_mb, peak.corrected)
        self._loop.watch.learning.load()
        self._told = self._loop.watch.learning.peaks
        self._loop.state.look_again()
