"""Failures on GPUs that have not been read since: a fault that is found now explains them."""

from __future__ import annotations

from collections.abc import Iterable

from duckrow.core.devices.gpu_suspicion import Failure

_LOOK_S = 2.0  # how long to wait for a reading; a driver that hangs must not keep a run from ending
_MOST = 1000


class Unexplained:
    def __init__(self) -> None:
        self._of: dict[str, dict[Failure, float]] = {}  # GPU -> what failed there, and when
        self._last_mono = 0.0

    def note(self, gpus: Iterable[str], failure: Failure, mono: float) -> None:
        self._last_mono = mono
        for gpu in gpus:
            here = self._of.setdefault(gpu, {})
            if len(here) < _MOST:
                here[failure] = mono

    def seen(self, gpus: Iterable[str], mono: float) -> None:
        """These were healthy at this time: jobs that failed earlier failed by themselves."""
        for gpu in gpus:
            later = {failure: at for failure, at in self._of.pop(gpu, {}).items() if at > mono}
            if later:
                self._of[gpu] = later

    def take(self, gpu: str) -> list[Failure]:
        return list(self._of.pop(gpu, {}))

    def look_until_mono(self) -> float | None:
        """How long to wait for a reading of these GPUs; None: there is nothing to explain."""
        return self._last_mono + _LOOK_S if self._of else None
