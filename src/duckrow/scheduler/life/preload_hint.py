"""Suggests --preload where runs spend much of their time on imports: one line, once for each script."""

from __future__ import annotations

import os

from duckrow.core.devices.needs import needs_from
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.memory.use import Use
from duckrow.core.ports import Observer
from duckrow.scheduler.state.told import Told

_SHARE = 0.2  # of a run, before it takes any memory of its GPU
_ENOUGH_RUNS = 3
_SHORTEST_S = 2.0


class PreloadHint:
    def __init__(self, told: Told, observer: Observer) -> None:
        self._told = told
        self._observer = observer

    def after(self, attempt: LiveAttempt, use: Use | None, lasted_s: float) -> None:
        """A run has ended well."""
        recipe = needs_from(attempt.job.needs).recipe if attempt.job.needs is not None else ""
        if use is None or use.first_s is None or not recipe.endswith(".py") or attempt.job.preload is not None:
            return
        if lasted_s < _SHORTEST_S or use.first_s < _SHARE * lasted_s:
            return
        if self._told.count(("would profit from --preload", recipe)) == _ENOUGH_RUNS:
            self._observer.trouble(
                f"Runs of {os.path.basename(recipe)} take {use.first_s:.0f} of {lasted_s:.0f} s before they use their "
                "GPU, probably for imports. To import large libraries (torch, jax, ...) once for all: --preload auto"
            )
