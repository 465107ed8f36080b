"""Priorities that runs got after they were submitted: one file for each change."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence

from duckrow.clusters.batch import Batch
from duckrow.clusters.shared_files import get, names, put


class Priorities:
    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._folder = f"{batch.folder}/priorities"
        self._read: set[str] = set()
        self.given: dict[int, int] = {}  # run -> priority, for runs that got one

    def look(self) -> bool:
        """Whether there were changes since the last look; the latest one counts."""
        fresh = sorted(set(names(self._folder)) - self._read)
        for name in fresh:
            told = get(f"{self._folder}/{name}") or {"runs": [], "priority": 0}
            self.given |= dict.fromkeys(told["runs"], told["priority"])
        self._read.update(fresh)
        return bool(fresh)

    def of(self, run: int) -> int:
        return self.given[run] if run in self.given else self._batch.runs[run].spec.priority

    def give(self, runs: Sequence[int], priority: int) -> None:
        os.makedirs(self._folder, 0o700, exist_ok=True)
        name = f"{time.time_ns():020}.{socket.gethostname()}.{os.getpid()}"
        put(f"{self._folder}/{name}", {"priority": priority, "runs": list(runs)})
