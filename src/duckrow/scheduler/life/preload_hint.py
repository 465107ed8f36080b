"""Suggests --preload where runs spend much of their time on imports: one line, once for each script."""

from __future__ import annotations

import os
from collections import Counter

from duckrow.core.devices.needs import needs_from
from duckrow.core.jobs.job import LiveAttempt
from duckrow.core.memory.use import Use
from duckrow.core.ports import Observer

_SHARE = 0.2  # of a run, before it takes any memory of its GPU
_ENOUGH_RUNS = 3
_SHORTEST_S = 2.0


class PreloadHint:
    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._seen: Counter[str] = Counter()  # by recipe, runs that would profit

    def after(self, attempt: LiveAttempt, use: Use | None, lasted_s: float) -> None:
        """A run has ended well."""
        recipe = needs_from(attempt.job.needs).recipe if attempt.job.needs is not None else ""
        if use is None or use.first_s is None or not recipe.endswith(".py") or attempt.job.preload is not None:
            return
        if lasted_s < _SHORTEST_S or use.first_s < _SHARE * lasted_s:
            return
        self._seen[recipe] += 1
        if self._seen[recipe] == _ENOUGH_RUNS:
            self._observer.trouble(
                f"Runs of {os.path.basename(recipe)} take {use.first_s:.0f} of {lasted_s:.0f} s before they use their "
                "GPU, probably for imports: --preload auto does these once for all runs."
            )
