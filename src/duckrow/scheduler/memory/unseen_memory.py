"""Memory that is reserved for an attempt and not visible yet: its GPUs stay locked against other duckrows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from duckrow.core.devices.inventory import WHOLE
from duckrow.core.jobs.job import LiveAttempt, QueuedJob
from duckrow.core.memory.observation import FRESH_S, Observation
from duckrow.core.named_tuple import NamedTuple
from duckrow.core.ports import Observer, Reactor
from duckrow.devices.locks.gpu_locks import GpuLocks
from duckrow.devices.locks.lock_patience import LONGEST_S
from duckrow.kernel.process import user_name
from duckrow.scheduler.devices.known_gpus import KnownGpus
from duckrow.scheduler.state.host_state import HostState

_COUNTS_AS_ALL = 0.85  # of what it holds: the margin is seldom used, so we do not wait for it
_ANY = 0.001  # the smallest part of a GPU that can be seen


class _Unseen(NamedTuple):
    since_mono: float
    locks: tuple[str, ...]  # of its GPUs
    seen_mono: float | None = None  # since when its memory can be seen


class UnseenMemory:
    def __init__(
        self,
        state: HostState,
        root: str,
        reactor: Reactor,
        observer: Observer,
        gpus: KnownGpus,
        observation: Observation,
        keeps_others_away: Callable[[QueuedJob], bool],
    ) -> None:
        """`root`: our state folder, which distinguishes us from other duckrows.

        `keeps_others_away`: whether to keep others off a job's GPUs until they can see its memory.
        """
        self._state = state
        self._reactor = reactor
        self._observer = observer
        self._gpus = gpus
        self._observation = observation
        self._keeps_others_away = keeps_others_away
        place = os.stat(root)
        self._locks = GpuLocks(f"{place.st_dev}-{place.st_ino}")  # others can read this, so it only identifies us
        self._open: dict[int, _Unseen] = {}  # attempt -> what is reserved for it
        self._met: set[int] = set()  # attempts with needs, already checked for reserved memory
        self.locked_by: dict[str, int] = {}  # GPU -> the user whose duckrow is about to take memory there
        self._told: set[str | tuple[str, int]] = set()

    def __bool__(self) -> bool:
        """Whether some memory is not visible yet."""
        return bool(self._open)

    @property
    def any_met(self) -> bool:
        """Whether any attempt with needs may be live."""
        return bool(self._met)

    def agree(self, gpus: Sequence[str]) -> set[str]:
        """Take the locks. Returns the GPUs on which another duckrow is about to take memory.

        Others release a lock two seconds after their memory became visible. So if a GPU is not locked, we can trust a
        reading of the last two seconds. By the clock as it is now: the tick may have waited for the database.
        """
        mono = self._reactor.now().mono
        self.take_up(mono)
        by_lock = {self._gpus.lock_name(gpu): gpu for gpu in gpus}
        refused = self._locks.take(by_lock, mono, lambda lock: self._observation.foreign_mb(by_lock[lock], mono))
        self._observation.mistrust(gpus, self._reactor.now().mono - FRESH_S)
        self.locked_by = {gpu: refused[lock] for gpu in gpus if (lock := self._gpus.lock_name(gpu)) in refused}
        self._tell(by_lock)
        return set(self.locked_by)

    def _tell(self, by_lock: Mapping[str, str]) -> None:
        """Report once whose lock we now ignore, and that there is no folder for locks."""
        fault = self._locks.fault
        if fault and fault not in self._told:
            self._told.add(fault)
            self._observer.trouble(f"No GPU can be locked, so other users may take the same memory: {fault}.")
        for key in self._locks.ignored - self._told:
            self._told.add(key)
            gpu, user = by_lock.get(key[0], key[0]), user_name(key[1])
            self._observer.trouble(f"{user}'s duckrow has locked GPU {gpu} for 2 minutes: that is now ignored.")

    def started(self, starts: Iterable[LiveAttempt], mono: float) -> None:
        """Keep the locks of the GPUs on which memory is reserved, until it is visible; release the others."""
        for attempt in starts:
            if attempt.job.needs is not None or self._locks.held:
                self._reserve(attempt, mono)
        if self._open or self._locks.held:
            self.release(mono)

    def take_up(self, mono: float) -> None:
        """Attempts of a dead host may not have taken their memory yet; and somebody may have deleted our locks."""
        self._locks.restore()
        if not self._gpus.devices:
            return  # locks are named after the GPUs, whose names are not known yet
        live = self._state.live
        self._met &= live.keys()
        new = [attempt for attempt in live.values() if attempt.job.needs is not None and attempt.id not in self._met]
        devices = {device for attempt in new for device in attempt.gpus}
        self._locks.take(map(self._gpus.lock_name, devices), mono)
        for attempt in new:
            self._reserve(attempt, mono)

    def _reserve(self, attempt: LiveAttempt, mono: float) -> None:
        if attempt.job.needs is not None:
            self._met.add(attempt.id)
        if not attempt.has_gpu or not self._keeps_others_away(attempt.job):
            return
        names = tuple(self._gpus.lock_name(device) for device, _ in attempt.holds)
        self._open[attempt.id] = _Unseen(attempt.started.mono, names)
        self._locks.reserve(names, mono)

    def release(self, mono: float) -> None:
        """Release the locks of GPUs where everybody can see all memory."""
        for attempt_id, unseen in list(self._open.items()):
            if unseen.seen_mono is None and self._is_seen(attempt_id, mono):
                # The reading may be newer than the tick.
                unseen = self._open[attempt_id] = unseen._replace(seen_mono=self._reactor.now().mono)
            if attempt_id not in self._state.live or self._is_over(unseen, mono):
                del self._open[attempt_id]
        kept = {name for unseen in self._open.values() for name in unseen.locks}
        self._locks.release(self._locks.held - kept)

    def _is_over(self, unseen: _Unseen, mono: float) -> bool:
        """Whether nobody still trusts a reading from before its memory was visible."""
        is_seen = unseen.seen_mono is not None and mono - unseen.seen_mono > FRESH_S
        return is_seen or mono - unseen.since_mono > LONGEST_S

    def _is_seen(self, attempt_id: int, mono: float) -> bool:
        """Whether it has taken nearly all that it holds, or seems to need no more.

        For an attempt that has a GPU to itself, or is tried out, any memory is enough: others who see it stay away.
        """
        attempt = self._state.live.get(attempt_id)
        use = self._observation.uses.get(attempt_id)
        if attempt is None or use is None:
            return False
        machine = self._gpus.machine
        taken = [
            use.mb.get(gpu, 0) * WHOLE
            >= share
            * machine.total_mb.get(gpu, 0)
            * (_ANY if share in (WHOLE, machine.guess_of(gpu)) else _COUNTS_AS_ALL)
            for gpu, share in attempt.holds
        ]
        return all(taken) or use.is_flat(mono)

    def forget(self, attempt_id: int) -> None:
        self._met.discard(attempt_id)
