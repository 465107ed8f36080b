"""How much memory the runs of a batch take. Everyone who learns something writes a file that the others read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from duckrow.clusters.batch import Batch
from duckrow.clusters.shared_files import get, names, put
from duckrow.core.named_tuple import NamedTuple

LOGIN = "login"
"""The login node: it knows these from before the batch began."""


class SharedPeak(NamedTuple):
    recipe: str
    model: str  # of the GPU
    peak_mb: int
    runs: int  # how many it was learned from
    corrected: bool = False  # a person has said so
    called: Sequence[tuple[str, int]] = ()  # (arguments, MB) of single runs, the latest first


class SharedPeaks:
    def __init__(self, batch: Batch, name: str) -> None:
        """`name`: who we are."""
        self._folder = f"{batch.folder}/peaks"
        self._name = name
        self._of_others: dict[str, list[SharedPeak]] = {}
        self._seen: dict[str, int] = {}  # when each file was written, by the file server's clock

    def tell(self, peaks: Iterable[SharedPeak]) -> None:
        """Write all that we have learned so far."""
        os.makedirs(self._folder, 0o700, exist_ok=True)
        put(f"{self._folder}/{self._name}", {"peaks": list(peaks)}, durable=False)

    def news(self) -> list[SharedPeak]:
        """What all others know, merged, if one of them has written something since the last look."""
        changed = {name: at for name in names(self._folder) if (at := self._written_at(name)) != self._seen.get(name)}
        changed.pop(self._name, None)
        for name in changed:
            told = get(f"{self._folder}/{name}") or {"peaks": []}
            self._of_others[name] = [SharedPeak(*values) for values in told["peaks"]]
        self._seen |= changed
        return together(peak for peaks in self._of_others.values() for peak in peaks) if changed else []

    def _written_at(self, name: str) -> int:
        try:
            return os.stat(f"{self._folder}/{name}").st_mtime_ns
        except OSError:  # it is just being replaced
            return 0


def together(peaks: Iterable[SharedPeak]) -> list[SharedPeak]:
    """One for each recipe and model: the highest that anybody has seen, unless a person has corrected it."""
    merged: dict[tuple[str, str], SharedPeak] = {}
    for peak in peaks:
        known = merged.setdefault(peak[:2], peak._replace(runs=0, called=()))
        most = known if (known.corrected, known.peak_mb) > (peak.corrected, peak.peak_mb) else peak
        called = dict(sorted([*known.called, *peak.called], key=lambda call: call[1]))
        merged[peak[:2]] = most._replace(runs=known.runs + peak.runs, called=list(called.items()))
    return list(merged.values())
