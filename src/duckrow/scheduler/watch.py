"""The GPUs as they are while jobs run on them: read when it matters, and turned into what placement needs to know."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from duckrow.core.inventory import CPU, WHOLE
from duckrow.core.job import ATTEMPTS_PER_JOB, LiveAttempt, QueuedJob
from duckrow.core.machine import Machine
from duckrow.core.needs import Ask, ask_of, needs_from, with_margin
from duckrow.core.observation import NOTICEABLE_MB, Observation, Tenant, Use
from duckrow.core.ports import Device, Reading
from duckrow.engines.local.gpu_locks import GpuLocks
from duckrow.engines.local.processes import attempts_of, tag_of
from duckrow.scheduler.device_reader import DeviceReader

if TYPE_CHECKING:
    from duckrow.scheduler.loop import Loop

_QUICK_S = 0.5  # between two readings while something waits for memory, or somebody looks
_HASTY_S = 0.02  # where something has ended and its memory is waited for
_SLOW_S = 5.0  # to draw curves
_OLD_ENOUGH_S = 1.0  # a job that has ended before has nothing to tell
_ALMOST_ALL = 0.85
_LOCKED_S = 120.0  # who has taken no memory by then will not be waited for


class Watch:
    def __init__(self, loop: Loop, machine: Machine) -> None:
        self._loop = loop
        self._base = machine
        self.observation = Observation()
        self._reader: DeviceReader | None = None
        self._devices: dict[str, Device] = {}
        self._read_at = 0.0
        self._no_library = False
        self._looked_at_until = 0.0  # a person looks
        self._memory_wanted = False
        self._learned: dict[tuple[str, str], int] = {}
        place = os.stat(loop.folder.root)
        self._locks = GpuLocks(f"{place.st_dev}-{place.st_ino}")  # others may read it: it tells nothing but who is who
        self._fresh: dict[int, tuple[float, tuple[str, ...]]] = {}  # attempt -> since when, the GPUs locked for it
        self._met: set[int] = set()  # attempts that have needs, and of which we know whether they are fresh
        self._gpus: tuple[object, list[str]] = (None, [])  # of which seats, the GPUs in them

    # -- what placement asks ----------------------------------------------------------------------------------

    def ask_of(self, job: QueuedJob) -> Ask:
        """What a job asks for, with what is known of its like put in."""
        if job.needs is None:
            return ask_of(job.gpus, None)
        needs = needs_from(job.needs)
        learned = self._peak_of(needs.recipe) if needs.auto else None
        reserved = None if learned is None else with_margin(learned)
        largest = self.largest_mb(job.gpus or 1) if reserved is not None else None
        if reserved is not None and largest is not None and reserved > largest * _ALMOST_ALL:
            reserved = None  # there is no room beside it anyway: it gets a GPU to itself
        return ask_of(job.gpus, job.needs, reserved)

    def machine(self, queue: Sequence[QueuedJob], now: float) -> Machine:
        """As it is now. Where memory is asked for, what has not been read is full."""
        self._memory_wanted = any(job.needs is not None and _wants_memory(self.ask_of(job)) for job in queue)
        if not (self._memory_wanted or self._base.policy.only_idle or self._base.policy.min_free_gpus):
            return self._base
        watched = self._watched()
        blocked = self._agree(watched) if self._memory_wanted else set()
        machine = self.observation.machine(self._base, self._tenants(), watched, now)
        return machine._replace(pressure={**machine.pressure, **dict.fromkeys(blocked, WHOLE)})

    def _agree(self, gpus: Sequence[str]) -> set[str]:
        """Take the locks; the GPUs on which another duckrow is about to take memory.

        What was read before another one's memory came to be seen must be read again.
        """
        self._take_up()
        refused = self._locks.take(self._lock_names(gpus))
        for gpu in gpus:
            self.observation.mistrust([gpu], self._locks.changed_at.get(self._lock_name(gpu), 0.0))
        return {gpu for gpu in gpus if self._lock_name(gpu) in refused}

    def started(self, starts: Iterable[LiveAttempt], now: float) -> None:
        """Keep the locks of the GPUs on which memory was promised, until it can be seen; the others go."""
        for attempt in starts:
            if attempt.job.needs is not None:
                self._promise(attempt)
        if self._fresh or self._locks.held:
            self._release_locks(now)

    def _promise(self, attempt: LiveAttempt) -> None:
        self._met.add(attempt.id)
        if not _on_gpu(attempt) or not _wants_memory(self.ask_of(attempt.job)):
            return
        names = tuple(self._lock_names(device for device, _ in attempt.holds))
        self._fresh[attempt.id] = (attempt.started_at, names)
        self._locks.promise(names)

    def _take_up(self) -> None:
        """Attempts of a host that died may not have taken their memory yet."""
        if not self._devices:
            return  # the locks have the names of the GPUs, which are not known yet
        live = self._loop.live
        self._met &= live.keys()
        new = [attempt for attempt in live.values() if attempt.job.needs is not None and attempt.id not in self._met]
        self._locks.take(self._lock_names({device for attempt in new for device, _ in attempt.holds}))
        for attempt in new:
            self._promise(attempt)

    def _release_locks(self, now: float) -> None:
        for attempt_id, (since, _) in list(self._fresh.items()):
            attempt = self._loop.live.get(attempt_id)
            if attempt is None or now - since > _LOCKED_S or self._is_seen(attempt, now):
                del self._fresh[attempt_id]
        kept = {name for _, names in self._fresh.values() for name in names}
        self._locks.release(self._locks.held - kept)

    def _is_seen(self, attempt: LiveAttempt, now: float) -> bool:
        """Whether it has taken what it holds, nearly, or will take no more as it seems."""
        use = self.observation.uses.get(attempt.id)
        if use is None:
            return False
        taken = [
            use.mb.get(gpu, 0) * WHOLE >= share * self._base.total_mb.get(gpu, 0) * _ALMOST_ALL
            for gpu, share in attempt.holds
        ]
        return all(taken) or use.is_flat(now)

    # -- when to read -----------------------------------------------------------------------------------------

    def due_at(self, now: float) -> float | None:
        """When the GPUs are to be read next; None: not before something happens."""
        if self._reader is not None and self._reader.waiting:
            return None
        watched = self._watched()
        if not watched:
            return None
        live = self._loop.live.values()
        looked_at = self._looked_at_until > now
        learns = bool(self._met) and any(attempt.follows is None and self._learns(attempt) for attempt in live)
        wanted = self._memory_wanted or looked_at or bool(self._fresh) or learns
        polite = bool(self._base.policy.only_idle or self._base.policy.min_free_gpus)
        if wanted or (polite and self._loop.jobs_wait):
            return self._read_at + (_HASTY_S if self.observation.is_outdated(watched) else _QUICK_S)
        oldest = next((attempt for attempt in live if attempt.follows is None and _on_gpu(attempt)), None)
        return None if oldest is None else max(oldest.started_at + _OLD_ENOUGH_S, self._read_at + _SLOW_S)

    def look_until(self, until: float) -> None:
        self._looked_at_until = until

    def read_if_due(self, now: float) -> None:
        due = self.due_at(now)
        if due is not None and due <= now:
            if self._reader is None:
                from duckrow.devices.discover import source

                self._reader = DeviceReader(self._loop.reactor, source())
            self._read_at = now
            self._reader.ask(self._watched())

    def _watched(self) -> list[str]:
        if self._no_library:
            return []
        if self._gpus[0] is not self._loop.seats:
            devices = (device for seat in self._loop.seats if not seat.is_cpu for device in seat.devices)
            self._gpus = (self._loop.seats, list(dict.fromkeys(devices)))
        return self._gpus[1]

    # -- what was read ----------------------------------------------------------------------------------------

    @property
    def has_news(self) -> bool:
        return self._reader is not None and not self._reader.empty

    def observe(self, now: float) -> None:
        """Take in what has been read: within the tick's transaction."""
        answer = self._reader.answer() if self._reader is not None else None
        if answer is None:
            # Static devices: what the user said of them is all there is.
            self._no_library = self._reader is not None and self._reader.no_library
            return
        devices, readings = answer
        if devices and not self._devices:
            self._meet(devices)
        owners = self._owners(readings)
        self.observation.note(readings, self._tenants(), owners, self._booked_elsewhere())
        self._shrink(now)
        self._take_up()
        self._release_locks(now)
        if self._looked_at_until > now:
            self._tell(readings, owners)

    def _owners(self, readings: Sequence[Reading]) -> dict[int, int]:
        pids = [process.pid for reading in readings for process in reading.processes or ()]
        tags = {tag_of(attempt.keeper, attempt.id): attempt.id for attempt in self._loop.live.values()} if pids else {}
        keepers = self._loop.folder.keepers
        return attempts_of(pids, tags, lambda journal: os.path.exists(os.path.join(keepers, journal)))

    def _booked_elsewhere(self) -> dict[str, int]:
        """What other hosts hold of each GPU, as shares."""
        booked = dict(self._loop.booked)
        for tenant in self._tenants():
            for device, share in tenant.holds:
                booked[device] = booked.get(device, 0) - share
        return booked

    def _meet(self, devices: Sequence[Device]) -> None:
        self._devices = {device.name: device for device in devices}
        known = {device.name: device.memory_mb for device in devices if device.memory_mb is not None}
        self._base = self._base._replace(total_mb={**known, **self._base.total_mb})
        self._loop.host.rows.note_machine(self._loop.host.id, self._base)

    def _tenants(self) -> list[Tenant]:
        return [
            Tenant(attempt.id, attempt.holds, attempt.started_at)
            for attempt in self._loop.live.values()
            if attempt.follows is None and _on_gpu(attempt)
        ]

    def _tell(self, readings: Sequence[Reading], owners: dict[int, int]) -> None:
        now = max(reading.at for reading in readings)
        for reading in readings:
            device = self._devices.get(reading.device)
            told: dict[str, Any] = {
                **reading._asdict(),
                "model": device.model if device else "",
                "uuid": device.uuid if device else "",
                "foreign_mb": self.observation.foreign_mb(reading.device, now),
                "processes": [
                    {"pid": pid, "mb": mb, "job_id": abs(owners.get(pid, 0)) // ATTEMPTS_PER_JOB or None}
                    for pid, mb in reading.processes or ()
                ],
            }
            self._loop.store.keep_reading(reading.device, reading.at, told)

    # -- learning ---------------------------------------------------------------------------------------------

    def load_learned(self) -> None:
        self._learned = self._loop.store.peaks()

    def _learns(self, attempt: LiveAttempt) -> bool:
        """Whether it holds more than its like will need, as soon as that is known."""
        if attempt.job.needs is None or not needs_from(attempt.job.needs).auto:
            return False
        return all(share == WHOLE for _, share in attempt.holds) and not needs_from(attempt.job.needs).alone

    def _shrink(self, now: float) -> None:
        """Those whose use is flat hold no more than that, and others move in beside them."""
        for attempt in list(self._loop.live.values()):
            use = self.observation.uses.get(attempt.id)
            if attempt.follows is not None or use is None or not self._learns(attempt) or not use.is_flat(now):
                continue
            if any(device not in self._base.total_mb for device, _ in attempt.holds):
                continue
            mb = with_margin(use.peak_mb)
            holds = tuple((device, min(self._base.share_of(device, mb), WHOLE)) for device, _ in attempt.holds)
            if holds != attempt.holds:
                self._learn(attempt, use.peak_mb)
                self._loop.rehold(attempt, holds)

    def ended(self, attempt: LiveAttempt, succeeded: bool, now: float) -> Use | None:
        """What was seen of an attempt that is over."""
        use = self.observation.forget(attempt.id)
        self._met.discard(attempt.id)
        self.observation.mistrust([device for device, _ in attempt.holds if not device.startswith(CPU)], now)
        if use is not None and use.peak_mb and not use.is_guess and succeeded and attempt.job.needs is not None:
            self._learn(attempt, use.peak_mb)
        return use

    def needs_at_least(self, attempt: LiveAttempt, mb: int) -> None:
        """One that ran out of memory has told how much it wanted: its like need not find that out one by one."""
        largest = self.largest_mb()
        if mb and largest is not None and with_margin(mb) <= largest * _ALMOST_ALL and attempt.job.needs is not None:
            self._learn(attempt, mb)

    def _learn(self, attempt: LiveAttempt, peak_mb: int) -> None:
        recipe = needs_from(attempt.job.needs).recipe
        if not recipe:
            return
        for model in {self._model(device) for device, _ in attempt.holds}:
            self._loop.store.learn(recipe, model, peak_mb)
            if peak_mb > self._learned.get((recipe, model), 0):
                self.load_learned()  # what a person has set stays as it is

    def _peak_of(self, recipe: str) -> int | None:
        """The most that it has taken on any of the models that are here."""
        models = {self._model(gpu) for gpu in self._watched()} or {""}
        return max((self._learned[recipe, model] for model in models if (recipe, model) in self._learned), default=None)

    def _model(self, gpu: str) -> str:
        device = self._devices.get(gpu)
        return device.model if device else ""

    # -- what a lesson needs ----------------------------------------------------------------------------------

    def total_mb(self, gpus: Iterable[str]) -> int | None:
        """The smallest of these."""
        known = [self._base.total_mb[gpu] for gpu in gpus if gpu in self._base.total_mb]
        return min(known, default=None)

    def foreign_mb(self, gpu: str) -> int:
        """What others use of it, if that is worth a word."""
        mb = self.observation.foreign_mb(gpu, time.time())
        return mb if mb >= NOTICEABLE_MB else 0

    def largest_mb(self, count: int = 1) -> int | None:
        """The size of which, or above, there are so many GPUs."""
        return self._sizes[count - 1] if 0 < count <= len(self._sizes) else None

    @property
    def all_mb(self) -> int | None:
        """What all GPUs have together, if each has an even part of it."""
        return self._sizes[-1] * len(self._sizes) if self._sizes else None

    @property
    def _sizes(self) -> list[int]:
        """The largest first."""
        usable = {device for seat in self._loop.seats for device in seat.devices}
        return sorted((mb for gpu, mb in self._base.total_mb.items() if gpu in usable), reverse=True)

    @property
    def base(self) -> Machine:
        return self._base

    def _lock_names(self, gpus: Iterable[str]) -> list[str]:
        return [self._lock_name(gpu) for gpu in gpus]

    def _lock_name(self, gpu: str) -> str:
        device = self._devices.get(gpu)
        return (device.uuid if device else "") or f"{os.uname().nodename}-{gpu}"


def _wants_memory(ask: Ask) -> bool:
    return ask.mb is not None or ask.total_mb is not None or ask.alone


def _on_gpu(attempt: LiveAttempt) -> bool:
    return not attempt.holds[0][0].startswith(CPU)
