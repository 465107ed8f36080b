"""Memory that was promised to an attempt and cannot be seen yet: its GPUs stay locked for other duckrows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from duckrow.core.inventory import CPU, WHOLE
from duckrow.core.job import LiveAttempt
from duckrow.core.observation import Observation
from duckrow.engines.local.gpu_locks import GpuLocks
from duckrow.scheduler.known_gpus import KnownGpus

if TYPE_CHECKING:
    from duckrow.scheduler.loop import Loop

_NEARLY_ALL = 0.85  # who has taken so much of what it holds has taken it
_LOCKED_S = 120.0  # who has taken no memory by then will not be waited for


class _Promise(NamedTuple):
    since_mono: float
    locks: tuple[str, ...]  # of its GPUs


class Promises:
    def __init__(
        self, loop: Loop, gpus: KnownGpus, observation: Observation, wants_memory: Callable[[LiveAttempt], bool]
    ) -> None:
        self._loop = loop
        self._gpus = gpus
        self._observation = observation
        self._wants_memory = wants_memory
        place = os.stat(loop.folder.root)
        self._locks = GpuLocks(f"{place.st_dev}-{place.st_ino}")  # others may read it: it tells nothing but who is who
        self._open: dict[int, _Promise] = {}  # attempt -> what was promised to it
        self._met: set[int] = set()  # attempts with needs of which we know whether anything is promised to them

    def __bool__(self) -> bool:
        """Whether memory is still to be seen."""
        return bool(self._open)

    @property
    def any_met(self) -> bool:
        """Whether any attempt with needs may be live."""
        return bool(self._met)

    def agree(self, gpus: Sequence[str]) -> set[str]:
        """Take the locks; the GPUs on which another duckrow is about to take memory.

        What was read before another one's memory came to be seen must be read again.
        """
        self.take_up()
        refused = self._locks.take(map(self._gpus.lock_name, gpus))
        for gpu in gpus:
            self._observation.mistrust([gpu], self._locks.changed_mono.get(self._gpus.lock_name(gpu), 0.0))
        return {gpu for gpu in gpus if self._gpus.lock_name(gpu) in refused}

    def started(self, starts: Iterable[LiveAttempt], mono: float) -> None:
        """Keep the locks of the GPUs on which memory was promised, until it can be seen; the others go."""
        for attempt in starts:
            if attempt.job.needs is not None:
                self._promise(attempt)
        if self._open or self._locks.held:
            self.release(mono)

    def take_up(self) -> None:
        """Attempts of a host that died may not have taken their memory yet."""
        if not self._gpus.devices:
            return  # the locks have the names of the GPUs, which are not known yet
        live = self._loop.live
        self._met &= live.keys()
        new = [attempt for attempt in live.values() if attempt.job.needs is not None and attempt.id not in self._met]
        self._locks.take({self._gpus.lock_name(device) for attempt in new for device, _ in attempt.holds})
        for attempt in new:
            self._promise(attempt)

    def _promise(self, attempt: LiveAttempt) -> None:
        self._met.add(attempt.id)
        if attempt.holds[0][0].startswith(CPU) or not self._wants_memory(attempt):
            return
        names = tuple(self._gpus.lock_name(device) for device, _ in attempt.holds)
        self._open[attempt.id] = _Promise(attempt.started.mono, names)
        self._locks.promise(names)

    def release(self, mono: float) -> None:
        """Let go of the locks behind which all memory can be seen."""
        for attempt_id, promise in list(self._open.items()):
            attempt = self._loop.live.get(attempt_id)
            if attempt is None or mono - promise.since_mono > _LOCKED_S or self._is_seen(attempt, mono):
                del self._open[attempt_id]
        kept = {name for promise in self._open.values() for name in promise.locks}
        self._locks.release(self._locks.held - kept)

    def _is_seen(self, attempt: LiveAttempt, mono: float) -> bool:
        """Whether it has taken what it holds, nearly, or will take no more as it seems."""
        use = self._observation.uses.get(attempt.id)
        if use is None:
            return False
        total_mb = self._gpus.machine.total_mb
        taken = [
            use.mb.get(gpu, 0) * WHOLE >= share * total_mb.get(gpu, 0) * _NEARLY_ALL for gpu, share in attempt.holds
        ]
        return all(taken) or use.is_flat(mono)

    def forget(self, attempt_id: int) -> None:
        self._met.discard(attempt_id)
