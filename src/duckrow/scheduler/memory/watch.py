"""Reads the GPUs while jobs run on them, when it matters, and works out what placement needs to know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from duckrow.core.clock import Now
from duckrow.core.devices.inventory import has_room
from duckrow.core.devices.machine import Machine
from duckrow.core.devices.needs import Ask, wants_whole_gpus
from duckrow.core.devices.neighbours import noticeable_mb
from duckrow.core.jobs.attempt import LiveAttempt
from duckrow.core.jobs.job import QueuedJob
from duckrow.core.memory.attribution import Owners, Tenant
from duckrow.core.memory.use import Use
from duckrow.core.ports import Engine, GpuReader, Reactor, Reading
from duckrow.kernel.process import user_name
from duckrow.scheduler.devices.broken_gpus import BrokenGpus
from duckrow.scheduler.devices.people import ignored_among, people_behind
from duckrow.scheduler.devices.shown_readings import ShownReadings
from duckrow.scheduler.memory.learning import Learning
from duckrow.scheduler.memory.misplaced import MisplacedAttempts
from duckrow.scheduler.memory.unseen_memory import UnseenMemory
from duckrow.scheduler.state.host_state import HostState
from duckrow.store.attempts.use import AttemptUseStore
from duckrow.store.hosts import DAEMON

_QUICK_S = 0.5  # between two readings while a job waits for memory, or somebody looks
_CALM_S = 1.0  # while a job waits for other people to leave, or a job with reserved memory runs
_HASTY_S = 0.02  # while we wait for the memory of a job that has ended
_SLOW_S = 5.0  # to draw the curves of attempts
_SLOWEST_S = 10.0  # to draw those of the GPUs, while nothing runs
_KEEP_S = 10.0  # how often the memory use of running attempts is written down
_OLD_ENOUGH_S = 1.0  # a shorter job has nothing to show


class Watch:
    def __init__(
        self,
        state: HostState,
        store: AttemptUseStore,
        engine: Engine,
        reactor: Reactor,
        open_reader: Callable[[Reactor], GpuReader],
        learning: Learning,
        unseen_memory: UnseenMemory,
        misplaced_attempts: MisplacedAttempts,
        shown_readings: ShownReadings,
        broken_gpus: BrokenGpus,
        met_gpus: Callable[[], None],
    ) -> None:
        """`met_gpus`: called when the library has listed the GPUs."""
        self._state = state
        self._store = store
        self._engine = engine
        self._reactor = reactor
        self._open_reader = open_reader
        self.learning = learning
        self._unseen_memory = unseen_memory
        self._misplaced_attempts = misplaced_attempts
        self._shown_readings = shown_readings
        self._broken_gpus = broken_gpus
        self._met_gpus = met_gpus
        self._reader: GpuReader | None = None

    # -- what placement asks ----------------------------------------------------------------------------------

    def ask_of(self, job: QueuedJob) -> Ask:
        return self.learning.ask_of(job)

    def machine(self, queue: Sequence[QueuedJob], mono: float) -> Machine:
        """The machine as it is now. If jobs ask for memory, a GPU that was not read counts as full."""
        machine = self._machine(queue, mono)
        self._state.reading.see(machine)
        return machine

    def _machine(self, queue: Sequence[QueuedJob], mono: float) -> Machine:
        state, gpus = self._state, self._state.gpus
        mattered = state.reading.others_matter
        memory_is_wanted = state.queue.any_needs and any(map(self.learning.wants_memory, queue))
        others_matter = memory_is_wanted or (self._is_polite and bool(queue))
        neighbours_matter = self._could_start_but_for_others(queue)
        state.reading.want(others_matter, neighbours_matter)
        if not memory_is_wanted and not neighbours_matter:
            state.unseen.lock({})
        if not others_matter and not neighbours_matter:
            return gpus.machine
        if others_matter and not mattered:
            state.observation.mistrust(gpus.watched, mono)  # others may have come since the last reading
        if memory_is_wanted or neighbours_matter:
            self._unseen_memory.agree(gpus.watched)
        machine = state.observation.machine(gpus.machine, self._tenants(), gpus.watched, mono)
        if memory_is_wanted:
            machine = machine._replace(unknown_jobs=self._unknown_jobs(queue))
        return machine.with_locks({gpu: user_name(uid) for gpu, uid in state.unseen.locked_by.items()})

    def _unknown_jobs(self, queue: Sequence[QueuedJob]) -> int:
        """For each GPU: those that wait, and those that are tried out."""
        waiting = sum(self.ask_of(job).unknown for job in queue)
        tried = sum(map(self.learning.still_learns, self._state.running)) if waiting else 0
        return -(-(waiting + tried) // max(len(self._state.gpus.watched), 1))

    def _could_start_but_for_others(self, queue: Sequence[QueuedJob]) -> bool:
        """Whether our own bookings leave room for a job that waits for a whole GPU."""
        if self._state.gpus.machine.policy.share or not self._state.gpus.watched:
            return False
        has_free_seat = any(has_room(seat, self._state.booked) for seat in self._state.seats if not seat.is_cpu)
        return has_free_seat and any(wants_whole_gpus(self.ask_of(job)) for job in queue)

    @property
    def _is_polite(self) -> bool:
        """Whether what others use matters also to jobs that ask for no memory."""
        policy = self._state.gpus.machine.policy
        return bool(policy.only_idle or policy.min_free_gpus)

    def started(self, starts: Sequence[LiveAttempt], mono: float) -> None:
        self._unseen_memory.started(starts, mono)
        self.learning.started(starts, mono)

    # -- when to read -----------------------------------------------------------------------------------------

    def due_mono(self, mono: float) -> float | None:
        """When to read the GPUs next; None: not before something happens."""
        watched, read_mono = self._state.gpus.watched, self._state.reading.read_mono
        if not watched or (self._reader is not None and self._reader.waiting):
            return None
        observation = self._state.observation
        if self.is_looked_for_faults(mono):
            return read_mono + (_QUICK_S if self._state.live else _HASTY_S)  # else a run waits to end
        if self._is_urgent(mono):
            return read_mono + (_HASTY_S if observation.is_outdated(watched, mono) else _QUICK_S)
        if self._state.reading.neighbours_matter:
            return read_mono + (_HASTY_S if observation.is_old(watched, mono) else _CALM_S)
        running = (attempt for attempt in self._state.live.values() if attempt.follows is None and attempt.has_gpu)
        oldest = next(running, None)
        if oldest is not None:
            often_s = _CALM_S if self._state.notes.met else _SLOW_S  # if we miss a peak, we learn a wrong one
            return max(oldest.started.mono + _OLD_ENOUGH_S, read_mono + often_s)
        if self._state.trust.may_pass:
            return read_mono + _SLOW_S
        return read_mono + _SLOWEST_S if self._state.host_id == DAEMON else None

    def _is_urgent(self, mono: float) -> bool:
        """Whether somebody waits for the next reading."""
        if self._state.reading.others_matter or self._state.unseen or self._state.reading.is_looked_at(mono):
            return True
        learners = self._state.live.values() if self._state.notes.met else ()
        return any(attempt.follows is None and self.learning.still_learns(attempt) for attempt in learners)

    def is_looked_for_faults(self, mono: float) -> bool:
        """Whether a job has failed on a GPU that has not been read since."""
        until_mono = self._state.trust.unexplained.look_until_mono()
        return until_mono is not None and mono < until_mono and bool(self._state.gpus.watched)

    def faults_due_mono(self, mono: float) -> float | None:
        """Until when to wait for a reading that may explain a failure: the driver may never answer."""
        if not self.is_looked_for_faults(mono):
            return None
        return self._state.trust.unexplained.look_until_mono() or mono

    def look(self, looked_at_until_mono: float) -> None:
        """The database has changed: perhaps a person looks at the GPUs, or another host has learned something."""
        self._state.reading.look_until(looked_at_until_mono)
        self.learning.load()

    def read_if_due(self, mono: float) -> None:
        due = self.due_mono(mono)
        if due is not None and due <= mono:
            if self._reader is None:
                self._reader = self._open_reader(self._reactor)
            self._state.reading.read(mono)
            self._reader.ask(self._state.gpus.watched)

    # -- what was read ----------------------------------------------------------------------------------------

    @property
    def has_news(self) -> bool:
        return self._reader is not None and not self._reader.empty

    def observe(self, now: Now) -> None:
        """Take in what has been read. Called in the tick's transaction."""
        answer = self._reader.answer() if self._reader is not None else None
        if answer is None:
            self._state.gpus.miss_library(self._reader is not None and self._reader.no_library)
            return
        devices, readings = answer
        if devices and not self._state.gpus.devices:
            self._state.gpus.meet(devices)
            self._met_gpus()
        owners = self._owners(readings)
        self._state.observation.note(readings, self._tenants(), owners, self._booked_elsewhere())
        self._broken_gpus.read(readings, now)
        self.learning.shrink(now.mono)
        self.learning.look_at_pace(now.mono)
        self._unseen_memory.take_up(now.mono)
        self._unseen_memory.release(now.mono)
        self._misplaced_attempts.look(readings, owners, now.wall)
        self._shown_readings.tell(readings, owners, now.mono, self._state.unseen.locked_by)
        if self._state.observation.uses and now.mono - self._state.reading.kept_mono > _KEEP_S:
            self._state.reading.keep(now.mono)
            self._keep_uses()

    def _keep_uses(self) -> None:
        """For people who look at a running job, and for the next host."""
        for attempt_id, use in self._state.observation.uses.items():
            if attempt_id in self._state.live:
                self._store.note(self._state.live[attempt_id], use)

    def adopted(self, attempts: Iterable[LiveAttempt]) -> None:
        """Continue the curves of attempts that a dead host has started. Called in a transaction."""
        for attempt in attempts:
            curve = self._store.curve(attempt) if attempt.has_gpu else []
            if curve:
                self._state.observation.resume(_tenant(attempt), curve)

    def _owners(self, readings: Sequence[Reading]) -> Owners:
        pids = [process.pid for reading in readings for process in reading.processes or ()]
        owners = self._engine.owners_of(pids, self._state.live.values())
        ignored = ignored_among(owners, self._state.gpus.machine.policy)
        return Owners(owners, ignored, people_behind(owners, ignored))

    def _booked_elsewhere(self) -> dict[str, int]:
        """What other hosts hold of each GPU, as shares."""
        booked = dict(self._state.booked)
        for tenant in self._tenants():
            for device, share in tenant.holds:
                booked[device] = booked.get(device, 0) - share
        return booked

    def _tenants(self) -> list[Tenant]:
        return [_tenant(each) for each in self._state.live.values() if each.follows is None and each.has_gpu]

    def ended(self, attempt: LiveAttempt, succeeded: bool, mono: float) -> Use | None:
        """What was seen of an attempt that is over."""
        use = self._state.observation.forget(attempt.id)
        self._state.observation.mistrust(attempt.gpus, mono)
        if use is not None and succeeded:
            self.learning.from_success(attempt, use)
        self.learning.ended(attempt, succeeded, mono, use)
        return use

    def foreign_mb(self, gpu: str) -> int:
        """What others use of it, if that is enough to mention."""
        mb = self._state.observation.foreign_mb(gpu, self._reactor.now().mono)
        return mb if mb > noticeable_mb(self._state.gpus.machine.total_mb.get(gpu, 0)) else 0


def _tenant(attempt: LiveAttempt) -> Tenant:
    return Tenant(attempt.id, attempt.holds, attempt.started.mono)
