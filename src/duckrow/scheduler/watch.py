"""The GPUs as they are while jobs run on them: read when it matters, and turned into what placement needs to know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from duckrow.core.attribution import Owners, Tenant
from duckrow.core.clock import Now
from duckrow.core.inventory import CPU, has_room
from duckrow.core.job import LiveAttempt, QueuedJob
from duckrow.core.machine import Machine
from duckrow.core.needs import Ask, wants_whole_gpus
from duckrow.core.neighbours import noticeable_mb
from duckrow.core.observation import Observation
from duckrow.core.ports import GpuReader, Reactor, Reading
from duckrow.core.use import Use
from duckrow.kernel.process import user_name
from duckrow.scheduler.known_gpus import KnownGpus
from duckrow.scheduler.learning import Learning
from duckrow.scheduler.people import ignored_among, people_behind
from duckrow.scheduler.promises import Promises
from duckrow.scheduler.strays import Strays
from duckrow.scheduler.told_readings import ToldReadings
from duckrow.store.hosts import DAEMON

if TYPE_CHECKING:
    from duckrow.scheduler.loop import Loop

_QUICK_S = 0.5  # between two readings while something waits for memory, or somebody looks
_CALM_S = 1.0  # while something waits for other people to go
_HASTY_S = 0.02  # where something has ended and its memory is waited for
_SLOW_S = 5.0  # to draw the curves of attempts
_SLOWEST_S = 10.0  # to draw those of the GPUs, while nothing runs
_KEEP_S = 10.0  # how often what was seen of the attempts is written down while they run
_OLD_ENOUGH_S = 1.0  # a job that has ended before has nothing to tell


class Watch:
    def __init__(self, loop: Loop, machine: Machine, open_reader: Callable[[Reactor], GpuReader]) -> None:
        self._loop = loop
        self._open_reader = open_reader
        self.gpus = KnownGpus(loop, machine)
        self.observation = Observation()
        self.learning = Learning(loop, self.gpus, self.observation)
        self._promises = Promises(loop, self.gpus, self.observation, lambda attempt: self._is_promised(attempt.job))
        self._strays = Strays(loop, self.gpus)
        self._told = ToldReadings(loop, self.gpus, self.observation)
        self.seen_machine = machine  # as the last tick saw it
        self._reader: GpuReader | None = None
        self._read_mono = 0.0
        self._kept_mono = 0.0
        self._memory_wanted = False  # by a job that waits
        self._matters = False  # to a job that waits, how much others use
        self._company_matters = False  # to a job that waits for a whole GPU, who uses it

    # -- what placement asks ----------------------------------------------------------------------------------

    def ask_of(self, job: QueuedJob) -> Ask:
        return self.learning.ask_of(job)

    def machine(self, queue: Sequence[QueuedJob], mono: float) -> Machine:
        """As it is now. Where memory is asked for, what has not been read is full."""
        self.seen_machine = self._machine(queue, mono)
        return self.seen_machine

    def _machine(self, queue: Sequence[QueuedJob], mono: float) -> Machine:
        self._memory_wanted = any(job.needs is not None and self._wants_memory(job) for job in queue)
        mattered, self._matters = self._matters, self._memory_wanted or (self._is_polite and bool(queue))
        self._company_matters = self._could_start_but_for_others(queue)
        if not self._memory_wanted and not self._company_matters:
            self._promises.locked_by = {}
        if not self._matters and not self._company_matters:
            return self.gpus.machine
        watched = self.gpus.watched
        if self._matters and not mattered:
            self.observation.mistrust(watched, mono)  # somebody may have come while nobody looked
        if self._memory_wanted or self._company_matters:
            self._promises.agree(watched)
        machine = self.observation.machine(self.gpus.machine, self._tenants(), watched, mono)
        return machine.with_locks({gpu: user_name(uid) for gpu, uid in self._promises.locked_by.items()})

    def _wants_memory(self, job: QueuedJob) -> bool:
        ask = self.ask_of(job)
        return ask.mb is not None or ask.total_mb is not None or ask.alone

    def _is_promised(self, job: QueuedJob) -> bool:
        """Whether others must be kept from its GPUs until they can see its memory."""
        return self._wants_memory(job) or (not self.gpus.machine.policy.share and wants_whole_gpus(self.ask_of(job)))

    def _could_start_but_for_others(self, queue: Sequence[QueuedJob]) -> bool:
        """Whether a job that waits for a whole GPU could have one, as far as our own bookings are concerned."""
        if self.gpus.machine.policy.share or not self.gpus.watched:
            return False
        has_free_seat = any(has_room(seat, self._loop.booked) for seat in self._loop.seats if not seat.is_cpu)
        return has_free_seat and any(wants_whole_gpus(self.ask_of(job)) for job in queue)

    @property
    def _is_polite(self) -> bool:
        """Whether it matters what others use, also to jobs that ask for no memory."""
        policy = self.gpus.machine.policy
        return bool(policy.only_idle or policy.min_free_gpus)

    def started(self, starts: Iterable[LiveAttempt], mono: float) -> None:
        self._promises.started(starts, mono)

    # -- when to read -----------------------------------------------------------------------------------------

    def due_mono(self, mono: float) -> float | None:
        """When the GPUs are to be read next; None: not before something happens."""
        watched = self.gpus.watched
        if not watched or (self._reader is not None and self._reader.waiting):
            return None
        if self.is_looked_for_faults(mono):
            return self._read_mono + (_QUICK_S if self._loop.live else _HASTY_S)  # else a run waits to end
        if self._is_urgent(mono):
            return self._read_mono + (_HASTY_S if self.observation.is_outdated(watched, mono) else _QUICK_S)
        if self._company_matters:
            return self._read_mono + (_HASTY_S if self.observation.is_old(watched, mono) else _CALM_S)
        running = (attempt for attempt in self._loop.live.values() if attempt.follows is None and _on_gpu(attempt))
        oldest = next(running, None)
        if oldest is not None:
            return max(oldest.started.mono + _OLD_ENOUGH_S, self._read_mono + _SLOW_S)
        if self._loop.broken_gpus.may_pass:
            return self._read_mono + _SLOW_S
        return self._read_mono + _SLOWEST_S if self._loop.host.id == DAEMON else None

    def _is_urgent(self, mono: float) -> bool:
        """Whether somebody waits for what there is to be read."""
        if self._matters or self._promises or self._told.is_looked_at(mono):
            return True
        learners = self._loop.live.values() if self._promises.any_met else ()
        return any(attempt.follows is None and self.learning.still_learns(attempt) for attempt in learners)

    def is_looked_for_faults(self, mono: float) -> bool:
        """Whether something has failed on a GPU that nobody has looked at since."""
        until_mono = self._loop.broken_gpus.unexplained.look_until_mono()
        return until_mono is not None and mono < until_mono and bool(self.gpus.watched)

    def look_until(self, until_mono: float) -> None:
        """A person looks."""
        self._told.looked_at_until_mono = until_mono

    def read_if_due(self, mono: float) -> None:
        due = self.due_mono(mono)
        if due is not None and due <= mono:
            if self._reader is None:
                self._reader = self._open_reader(self._loop.reactor)
            self._read_mono = mono
            self._reader.ask(self.gpus.watched)

    # -- what was read ----------------------------------------------------------------------------------------

    @property
    def has_news(self) -> bool:
        return self._reader is not None and not self._reader.empty

    def observe(self, now: Now) -> None:
        """Take in what has been read: within the tick's transaction."""
        answer = self._reader.answer() if self._reader is not None else None
        if answer is None:
            self.gpus.no_library = self._reader is not None and self._reader.no_library
            return
        devices, readings = answer
        if devices and not self.gpus.devices:
            self.gpus.meet(devices)
        owners = self._owners(readings)
        self.observation.note(readings, self._tenants(), owners, self._booked_elsewhere())
        self._loop.broken_gpus.read(readings, now)
        self.learning.shrink(now.mono)
        self._promises.take_up(now.mono)
        self._promises.release(now.mono)
        self._strays.look(readings, owners, now.wall)
        self._told.tell(readings, owners, now.mono, self._promises.locked_by)
        if self.observation.uses and now.mono - self._kept_mono > _KEEP_S:
            self._kept_mono = now.mono
            self._keep_uses()

    def _keep_uses(self) -> None:
        """For those who look at a job that runs, and for the host that comes after us."""
        for attempt_id, use in self.observation.uses.items():
            if attempt_id in self._loop.live:
                self._loop.store.use.note(self._loop.live[attempt_id], use)

    def adopted(self, attempts: Iterable[LiveAttempt]) -> None:
        """Go on with the curves of attempts that another host, now dead, has started: within a transaction."""
        for attempt in attempts:
            curve = self._loop.store.use.curve(attempt) if _on_gpu(attempt) else []
            if curve:
                self.observation.uses.setdefault(attempt.id, Use(attempt.started.mono)).resume(curve)

    def _owners(self, readings: Sequence[Reading]) -> Owners:
        pids = [process.pid for reading in readings for process in reading.processes or ()]
        owners = self._loop.engine.owners_of(pids, self._loop.live.values())
        ignored = ignored_among(owners, self.gpus.machine.policy)
        return Owners(owners, ignored, people_behind(owners, ignored))

    def _booked_elsewhere(self) -> dict[str, int]:
        """What other hosts hold of each GPU, as shares."""
        booked = dict(self._loop.booked)
        for tenant in self._tenants():
            for device, share in tenant.holds:
                booked[device] = booked.get(device, 0) - share
        return booked

    def _tenants(self) -> list[Tenant]:
        return [
            Tenant(attempt.id, attempt.holds, attempt.started.mono)
            for attempt in self._loop.live.values()
            if attempt.follows is None and _on_gpu(attempt)
        ]

    def ended(self, attempt: LiveAttempt, succeeded: bool, mono: float) -> Use | None:
        """What was seen of an attempt that is over."""
        use = self.observation.forget(attempt.id)
        self._promises.forget(attempt.id)
        self.observation.mistrust([device for device, _ in attempt.holds if not device.startswith(CPU)], mono)
        if use is not None and succeeded:
            self.learning.from_success(attempt, use)
        return use

    def foreign_mb(self, gpu: str) -> int:
        """What others use of it, if that is worth a word."""
        mb = self.observation.foreign_mb(gpu, self._loop.reactor.now().mono)
        return mb if mb > noticeable_mb(self.gpus.machine.total_mb.get(gpu, 0)) else 0


def _on_gpu(attempt: LiveAttempt) -> bool:
    return not attempt.holds[0][0].startswith(CPU)
