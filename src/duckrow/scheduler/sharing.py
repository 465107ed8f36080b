"""Sharing a GPU well: NVIDIA's MPS, started for packed jobs and ended when nobody needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from duckrow.core.inventory import CPU
from duckrow.core.job import LiveAttempt

if TYPE_CHECKING:
    from duckrow.engines.local.mps import Mps
    from duckrow.scheduler.loop import Loop

OFF, AUTO, ON = "off", "auto", "on"
"""`auto`: for jobs that are packed. `on`: for every job on a GPU."""


class Sharing:
    def __init__(self, loop: Loop, mode: str) -> None:
        self._loop = loop
        self._mode = mode
        self._mps: Mps | None = None
        self._in_vain = False

    def variables(self, attempt: LiveAttempt) -> dict[bytes, bytes]:
        """What an attempt that may share its GPU needs in its environment."""
        gpus = [device for device, _ in attempt.holds if not device.startswith(CPU)]
        wanted = self._mode == ON or (self._mode == AUTO and attempt.job.needs is not None)
        if not wanted or not gpus or self._in_vain:
            return {}
        if self._mps is None:
            self._start()
        return self._mps.variables if self._mps is not None else {}

    def _start(self) -> None:
        from duckrow.engines.local.mps import Mps

        mps = Mps(self._loop.folder.root)
        all_gpus = sorted({device for seat in self._loop.seats if not seat.is_cpu for device in seat.devices})
        why_not = mps.start(all_gpus)
        if why_not:
            self._in_vain = True
            if self._mode == ON:
                self._loop.observer.trouble(f"MPS cannot be used: {why_not} Jobs share GPUs without it.")
        else:
            self._mps = mps

    def close(self) -> None:
        if self._mps is not None:
            self._mps.end()
