"""Which GPUs are set aside, and what speaks against the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from duckrow.core.devices.gpu_faults import Faults
from duckrow.core.devices.gpu_suspicion import Streaks
from duckrow.core.devices.set_aside import SetAside
from duckrow.core.devices.unexplained_failures import Unexplained

_MOST_RETURNS = 3  # after that, only a person can put a GPU that comes and goes back into use


class GpuTrust:
    def __init__(self) -> None:
        self.aside: dict[str, SetAside] = {}  # by GPU
        self.faults = Faults()
        self.streaks = Streaks()
        self.unexplained = Unexplained()
        self._returns: Counter[str] = Counter()  # how often a GPU was used again because its fault was over
        self._tried: set[int] = set()  # jobs that were already sent elsewhere because of a suspicion: once is enough

    @property
    def may_pass(self) -> bool:
        """Whether a reading may say that a GPU can be used again."""
        return any(gpu.passes for gpu in self.aside.values())

    def may_return(self, device: str) -> bool:
        """Whether a reading may say so of this one."""
        return self._returns[device] < _MOST_RETURNS

    def was_tried(self, job_id: int) -> bool:
        return job_id in self._tried

    def set_aside(self, gpu: SetAside) -> None:
        self.aside[gpu.device] = gpu

    def give_out(self, device: str) -> None:
        del self.aside[device]
        self.unexplained.take(device)

    def note_return(self, device: str) -> None:
        """Its fault is over."""
        self._returns[device] += 1

    def forgive(self, device: str) -> None:
        """A person wants it back, or it is no longer ours: what was before does not count."""
        self.faults.forget(device)
        self._returns.pop(device, None)
        self.streaks.forget(device)

    def try_elsewhere(self, job_ids: Iterable[int]) -> None:
        self._tried.update(job_ids)
