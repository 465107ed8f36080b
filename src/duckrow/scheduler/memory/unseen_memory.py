"""Memory that is reserved for an attempt and not visible yet: its GPUs stay locked against other duckrows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from duckrow.core.devices.inventory import WHOLE
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.memory.observation import FRESH_S
from duckrow.core.ports import Observer, Reactor
from duckrow.devices.locks.gpu_locks import GpuLocks
from duckrow.devices.locks.lock_patience import LONGEST_S
from duckrow.kernel.process import user_name
from duckrow.scheduler.state.host_state import HostState
from duckrow.scheduler.state.unseen_reservations import UnseenReservation

_COUNTS_AS_ALL = 0.85  # of what it holds: the margin is seldom used, so we do not wait for it
_ANY = 0.001  # the smallest part of a GPU that can be seen


class UnseenMemory:
    def __init__(
        self,
        state: HostState,
        root: str,
        reactor: Reactor,
        observer: Observer,
        keeps_others_away: Callable[[QueuedJob], bool],
    ) -> None:
        """`root`: our state folder, which distinguishes us from other duckrows.

        `keeps_others_away`: whether to keep others off a job's GPUs until they can see its memory.
        """
        self._state = state
        self._reactor = reactor
        self._observer = observer
        self._keeps_others_away = keeps_others_away
        place = os.stat(root)
        self._locks = GpuLocks(f"{place.st_dev}-{place.st_ino}")  # others can read this, so it only identifies us

    def agree(self, gpus: Sequence[str]) -> None:
        """Take the locks, and learn on which GPUs another duckrow is about to take memory.

        Others release a lock two seconds after their memory became visible. So if a GPU is not locked, we can trust a
        reading of the last two seconds. By the clock as it is now: the tick may have waited for the database.
        """
        mono = self._reactor.now().mono
        self.take_up(mono)
        by_lock = {self._lock_name(gpu): gpu for gpu in gpus}
        refused = self._locks.take(by_lock, mono, lambda lock: self._state.observation.foreign_mb(by_lock[lock], mono))
        self._state.observation.mistrust(gpus, self._reactor.now().mono - FRESH_S)
        self._state.unseen.lock({gpu: refused[lock] for lock, gpu in by_lock.items() if lock in refused})
        self._tell(by_lock)

    def _lock_name(self, gpu: str) -> str:
        """The name that every duckrow on this machine uses for it."""
        device = self._state.gpus.devices.get(gpu)
        return (device.uuid if device else "") or f"{os.uname().nodename}-{gpu}"

    def _tell(self, by_lock: Mapping[str, str]) -> None:
        """Report once whose lock we now ignore, and that there is no folder for locks."""
        fault = self._locks.fault
        if fault and self._state.told.is_new(fault):
            self._observer.trouble(f"No GPU can be locked, so other users may take the same memory: {fault}.")
        for key in self._locks.ignored:
            if not self._state.told.is_new(("a lock that is ignored", *key)):
                continue
            gpu, user = by_lock.get(key[0], key[0]), user_name(key[1])
            self._observer.trouble(f"{user}'s duckrow has locked GPU {gpu} for 2 minutes: that is now ignored.")

    def started(self, starts: Iterable[LiveAttempt], mono: float) -> None:
        """Keep the locks of the GPUs on which memory is reserved, until it is visible; release the others."""
        for attempt in starts:
            if attempt.job.needs is not None or self._locks.held:
                self._reserve(attempt, mono)
        if self._state.unseen or self._locks.held:
            self.release(mono)

    def take_up(self, mono: float) -> None:
        """Attempts of a dead host may not have taken their memory yet; and somebody may have deleted our locks."""
        self._locks.restore()
        if not self._state.gpus.devices:
            return  # locks are named after the GPUs, whose names are not known yet
        new = [attempt for attempt in self._state.live.values() if self._is_new(attempt)]
        devices = {device for attempt in new for device in attempt.gpus}
        self._locks.take(map(self._lock_name, devices), mono)
        for attempt in new:
            self._reserve(attempt, mono)

    def _is_new(self, attempt: LiveAttempt) -> bool:
        return attempt.job.needs is not None and attempt.id not in self._state.notes.met

    def _reserve(self, attempt: LiveAttempt, mono: float) -> None:
        if attempt.job.needs is not None:
            self._state.notes.meet(attempt.id)
        if not attempt.has_gpu or not self._keeps_others_away(attempt.job):
            return
        names = tuple(self._lock_name(device) for device, _ in attempt.holds)
        self._state.unseen.reserve(attempt.id, attempt.started.mono, names)
        self._locks.reserve(names, mono)

    def release(self, mono: float) -> None:
        """Release the locks of GPUs where everybody can see all memory."""
        unseen = self._state.unseen
        for attempt_id in [id for id, each in unseen.of.items() if each.seen_mono is None and self._is_seen(id, mono)]:
            unseen.see(attempt_id, self._reactor.now().mono)  # the reading may be newer than the tick
        live = self._state.live
        unseen.end([id for id, each in unseen.of.items() if id not in live or self._is_over(each, mono)])
        self._locks.release(self._locks.held - unseen.locks)

    def _is_over(self, unseen: UnseenReservation, mono: float) -> bool:
        """Whether nobody still trusts a reading from before its memory was visible."""
        is_seen = unseen.seen_mono is not None and mono - unseen.seen_mono > FRESH_S
        return is_seen or mono - unseen.since_mono > LONGEST_S

    def _is_seen(self, attempt_id: int, mono: float) -> bool:
        """Whether it has taken nearly all that it holds, or seems to need no more.

        For an attempt that has a GPU to itself, or is tried out, any memory is enough: others who see it stay away.
        """
        attempt = self._state.live.get(attempt_id)
        use = self._state.observation.uses.get(attempt_id)
        if attempt is None or use is None:
            return False
        machine = self._state.gpus.machine
        taken = [
            use.mb.get(gpu, 0) * WHOLE
            >= share
            * machine.total_mb.get(gpu, 0)
            * (_ANY if share == WHOLE or machine.is_guess(gpu, share) else _COUNTS_AS_ALL)
            for gpu, share in attempt.holds
        ]
        return all(taken) or use.is_flat(mono)
